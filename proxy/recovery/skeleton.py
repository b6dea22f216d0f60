"""
The shape of a refusal that no rule knows, fit for a log: words that errors are made of, and nothing of the request.

Servers quote requests back, so only words of a closed list are let through; numbers become ``N``, all else ``_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_WORDS = 60
_WORDS = frozenset(
    """
    a above across add after all allow allowed allows already an and any are array as assistant at attachment audio auth
    available bad balance be been before below between beyond block blocks body buffer but by byte bytes cache cached call
    calls can cannot cap capacity change characters chat choose client closed code combined completion concurrent config
    configured consider contain contains content context conversation could count current daily data deadline decrease
    deployment described did dimension dimensions disabled document documents does down due during each empty enabled
    encoded endpoint engine enough entity entries error exceed exceeded exceeding exceeds exhausted expected failed failure
    fewer field file files filter first fit fits follow following for format found from full function functions gateway
    generate generated generation given got greater had has have header headers higher history hour http id if image images
    in index input inputs insufficient internal invalid is issue it item items its json keep key large larger last least
    left len length less limit limited limits list load long longer lower many max maximum may memory message messages
    method minimum minute missing model models more most must need needs new no non not number object of old on one only
    or order organization out output over overflow overloaded page pages param parameter parameters part parts past payload
    per permission picture plan please policy position positive pre previous prompt prompts property provide provided
    provider queue quota range rate reached read reason received reduce refused rejected remaining remove request requested
    requests required requires reserved resource response result results retry role roles room same schema second see
    select sequence server service session set short shorten shorter should size slot slots small smaller span split start
    status stop stream string subscription sum supported supports system take temperature text than that the their then
    there thinking this threshold tier time timeout to token tokenizer tokens too tool tools total try type unable
    unavailable under unexpected unknown unsupported up upgrade upload upstream use used user valid validation value values
    video was we were while will window with within without would you your
    """.split()  # noqa: SIM905 - a list of words reads best as one
)
_CJK = "上下文|超出|超过|限制|长度|最大|输入|输出|请求|模型|消息|对话|过长|太长|上限|错误|无效|参数|余额|频率"
_PIECE = re.compile(rf"[a-z]+|\d[\d.,]*|{_CJK}|[^\W\d_a-z]+")
_NUMBER = re.compile(r"\d")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def skeleton(text: str, codes: Iterable[str] = ()) -> str:
    """
    Return *text* and *codes* with every word left out that a request could have brought.
    """
    said = _shape(text)
    coded = [_shape(code) for code in sorted(codes)]
    return " | ".join(part for part in (said, *coded) if part.strip("_ N"))


def _shape(text: str) -> str:
    plain = _CAMEL.sub(" ", text).lower().replace("_", " ")
    shown: list[str] = []
    for piece in _PIECE.findall(plain):
        word = "N" if _NUMBER.match(piece) else piece if piece in _WORDS or piece in _CJK else "_"
        if not (word == "_" and shown and shown[-1] == "_"):
            shown.append(word)
        if len(shown) == MOST_WORDS:
            break
    return " ".join(shown)
