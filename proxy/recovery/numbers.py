"""
The numbers that an overflow states: limit, prompt, output, total and excess, each from the words around it.

Rows are asked from the top and each number is taken from the first row that has it. A number of characters, bytes, or
of a rate is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.recovery.wording import CONTEXT, OUTPUT, TOKENS

SMALLEST_LIMIT = 128
"""Below it a stated limit is a bug of the server (one version answered window minus max_tokens: 3)."""

_UNITS = r"(?! ?(?:characters?|chars?|bytes?\b|[kmg]i?b\b|字符|字节|文字|pixels?|seconds?|messages?\b|images?\b|%|x\d))"
_N = rf"(?<![a-z0-9_.,/-])(?:\[|\()?(?P<{{0}}>\d[\d,_]*\d(?:\.\d+)?(?: ?[km](?![a-z]))?|\d(?: ?[km](?![a-z])|\b))(?![a-z0-9_]|-(?!tokens?)|[.,]\d){_UNITS}"
_GAP = r"[^\d\n]{0,%d}?"


@dataclass(frozen=True, slots=True)
class NumberRow:
    """
    A wording with named numbers; ``{limit}`` in *wording* stands for a number that is the limit, and so on.
    """

    wording: str
    example: str
    found: Mapping[str, int]
    sure: bool = False
    """Whether a number may be taken that is already known under another name (a window equal to the asked output)."""

    def compiled(self) -> re.Pattern[str]:
        """
        Return the wording with its numbers and gaps filled in.
        """
        text = re.sub(r"\{(limit|prompt|output|total|excess|tools)\}", lambda m: _N.replace("{0}", m[1]), self.wording)
        return re.compile(re.sub(r"~(\d+)~", lambda m: _GAP % int(m[1]), text))


_LIMIT_NOUN = (
    r"(?:context(?:[ _-](?:window|length|size|limit|capacity|budget))?|max_(?:model|seq|input|prompt|context|total)_(?:len|length|tokens)|session_len|n_ctx|ctx"
    r"|(?:sequence|model|input|prompt|allowed) (?:length|limit|size)|token limit|tokens limit|configured limit|max(?:imum)?(?: allowed)?(?: number of)?(?: input| prompt| context| total| message)* (?:tokens|length|limit|size)|window|kv cache"
    r"|上下文(?:长度|窗口)?|最大长度|コンテキスト長?|컨텍스트 ?(?:길이)?|kontextfenster|kontextlänge|longueur de contexte|longitud (?:máxima )?de contexto)"
)

ROWS: tuple[NumberRow, ...] = (
    NumberRow(r"context (?:length|window|size) is (?:only )?{limit}[^\n]*maximum input length of", "context length is only 9000 tokens, resulting in a maximum input length of 8000 tokens", {"limit": 9000}, sure=True),
    NumberRow(r"max(?:imum)? tokens of {limit}(?: was| were)? exceeded", "max tokens of 9000 exceeded", {"limit": 9000}),
    NumberRow(r"max(?:imum)? (?:model |total )?(?:context|prompt|input|sequence) (?:length|window|size)(?: of this model)? (?:is|of) (?:only )?{limit}", "maximum context length is 30,000 tokens", {"limit": 30000}, sure=True),
    NumberRow(r"(?:messages|prompt|request|input)(?: has| have| used|s? resulted in| contains?| is)(?: at least| about)? {prompt} (?:input |prompt )?tokens", "your messages resulted in 6900 tokens", {"prompt": 6900}, sure=True),
    NumberRow(r"\bn_ctx\w*[ =:(]+{limit}", "n_past (8000) + n_batch (512) > n_ctx (8100)", {"limit": 8100}, sure=True),
    NumberRow(r"{prompt} ?\+ ?{output} ?(?:>|>=|exceeds) ?{limit}", "context limit: 150000 + 60000 > 190000", {"prompt": 150000, "output": 60000, "limit": 190000}),
    NumberRow(r"max_tokens: {output} > context_window: {limit} - input_tokens: {prompt}", "max_tokens: 9000 > context_window: 30000 - input_tokens: 25000 = available_tokens: 5000", {"output": 9000, "limit": 30000, "prompt": 25000}),
    NumberRow(r"(?:context|window|slot)(?: of (?:the|this) model)? is (?:now )?full[^\d\n]{0,6}{limit}", "context is full (9000 tokens)", {"limit": 9000}, sure=True),
    NumberRow(r"(?:context|window|room|capacity)[^\d\n]{0,12} for {prompt} tokens", "no deployment with a large enough context window for 90000 tokens", {"prompt": 90000}),
    NumberRow(r"(?:prompt|input)[^\d\n]{0,20}{prompt}[^\d\n]{0,30}(?:max_\w+|completion|output)[^\d\n]{0,12}{output}[^\d\n]{0,16}(?:exceeds?|>|is (?:more|greater))", "prompt length 8000 and max_gen_len 2000 exceeds 9000", {"prompt": 8000, "output": 2000}),
    NumberRow(rf"{CONTEXT}[ =:(]*{{limit}}\)? ?<=? ?(?:prompt|input)\w*[ =:(]*{{prompt}}", "max_seq_len 8000 < prompt 9000", {"limit": 8000, "prompt": 9000}),
    NumberRow(r"\b(?:prompt|input)\w* ?[=:] ?{prompt}[,;] ?(?:completion|output|max\w*|answer)\w* ?[=:] ?{output}[,;] ?(?:limit|max\w*|window|context)\w* ?[=:] ?{limit}", "prompt=9000, completion=500, limit=8000", {"prompt": 9000, "output": 500, "limit": 8000}),
    NumberRow(r"requested {prompt} tokens, (?:but )?(?:have|has|only) {limit}", "Requested 9000 tokens, have 8000", {"prompt": 9000, "limit": 8000}),
    NumberRow(r"max(?:imum)? tokens for (?:the )?(?:prompt|input):? {limit}", "max tokens for prompt 6000", {"limit": 6000}),
    NumberRow(r"{prompt} of {limit} tokens", "8000 of 8100 tokens are taken by the prompt", {"prompt": 8000, "limit": 8100}),
    NumberRow(r"you have {prompt} ?\+ ?{output}", "at most 8000; you have 7900 + 500", {"prompt": 7900, "output": 500}),
    NumberRow(r"= ?{prompt} ?>=? ?(?:n_ctx|max\w*) ?= ?{limit}", "n_past + n_prompt = 4411 > n_ctx = 4100", {"prompt": 4411, "limit": 4100}),
    NumberRow(r"n_keep: ?{prompt} >= n_ctx: ?{limit}", "(n_keep: 9000 >= n_ctx: 4100)", {"prompt": 9000, "limit": 4100}),
    NumberRow(r"{prompt} of text input, {tools} of tool input", "about 90000 tokens (60000 of text input, 20000 of tool input, 10000 in the output)", {"prompt": 80000}),
    NumberRow(r"{prompt} (?:tokens )?(?:in the messages|of text input|in (?:your|the) prompt|(?:tokens )?from the input messages)", "requested 9200 tokens (8200 in the messages, 1000 in the completion)", {"prompt": 8200}),
    NumberRow(r"{output} (?:tokens )?(?:in|for|of)  ?(?:the )?(?:completion|output)", "requested 9200 tokens (8200 in the messages, 1000 in the completion)", {"output": 1000}, sure=True),
    NumberRow(r"(?:requested|request has|requires?|contains?|sent)(?: about| a total of| at least)? {total} tokens ?\((?=[^)]*(?:messages|prompt|input))", "you requested 9200 tokens (8200 in the messages, 1000 in the completion)", {"total": 9200}),
    NumberRow(r"requested a total of {total} tokens", "You requested a total of 9200 tokens: 8200 tokens from the input messages", {"total": 9200}),
    NumberRow(r"input and maximum output tokens \({total}\)", "input and maximum output tokens (90000) exceeded the limit (32000)", {"total": 90000}),
    NumberRow(r"prompt and prediction\) cannot exceed {limit} - received {total}", "(prompt and prediction) cannot exceed 2100 - received 6300", {"limit": 2100, "total": 6300}),
    NumberRow(r"must be (?:<=?|less than(?: or equal to)?) {limit}\. given: {prompt} inputs tokens and {output} max_new_tokens", "inputs tokens + max_new_tokens must be <= 1500. given: 1000 inputs tokens and 900 max_new_tokens", {"limit": 1500, "prompt": 1000, "output": 900}),
    NumberRow(r"must have less than {limit} tokens\. given: {prompt}", "inputs must have less than 1000 tokens. given: 1100", {"limit": 1000, "prompt": 1100}),
    NumberRow(r"(?:requested|plus|and) {output} (?:output tokens|'?max_(?:new_|completion_)?tokens)", "you requested 30000 output tokens and your prompt has 900", {"output": 30000}),
    NumberRow(rf"(?:{OUTPUT})'?(?: value)? is too (?:large|high): {{output}}", "max_tokens is too large: 9000", {"output": 9000}),
    NumberRow(rf"(?:{OUTPUT})(?: ?[=:(] ?){{output}}", "max_tokens=9000 cannot be greater than max_model_len=8000", {"output": 9000}),
    NumberRow(r"(?:exceeded|exceeds|over|too long)~60~ by {excess} tokens", "exceeded max context length by 90000 tokens", {"excess": 90000}),
    NumberRow(r"{excess} ?(?:tokens?|トークン|个 ?token)? ?(?:超え|too many|more than (?:allowed|the|its|permitted)|over (?:the|its)|above the)", "9001 tokens, which is 1001 more than allowed", {"excess": 1001}),
    NumberRow(r"\[ ?[01] ?, ?{limit} ?\]", "Range of input length should be [1, 7000]", {"limit": 7000}),
    NumberRow(r"cannot truncate to {limit}, required {prompt}", "Cannot truncate to 9000, required 12000: text:12100", {"limit": 9000, "prompt": 12000}),
    NumberRow(r"(?:model )?token limit: {limit} \(requested: {prompt}\)", "exceeded model token limit: 9000 (requested: 9900)", {"limit": 9000, "prompt": 9900}),
    NumberRow(r"current length is {prompt} while limit is {limit}", "Current length is 9000 while limit is 8000", {"prompt": 9000, "limit": 8000}),
    NumberRow(r"(?:exceed\w*|limit|tokens?|length|reached)[: (]+(?P<prompt>\d[\d,]*) ?/ ?(?P<limit>\d[\d,]*)|(?P<prompt_>\d[\d,]*) ?/ ?(?P<limit_>\d[\d,]*) tokens", "Token limit exceeded: 9000/8000", {"prompt": 9000, "limit": 8000}),
    NumberRow(r"{prompt}(?: tokens?)? ?>=? ?{limit}", "prompt is too long: 9100 tokens > 8000 maximum", {"prompt": 9100, "limit": 8000}),
    NumberRow(r"\brequested:? {total} tokens", "Context window exceeded: requested 12000 tokens", {"total": 12000}),
    NumberRow(r"(?:exceed\w*|reached|(?:longer|larger|greater|bigger|more|higher) than|over|overflow\w*|above|past|beyond|cannot exceed|must not exceed|fit (?:in|into)|超过\w*|超出\w*|überschr\w*|überst\w*|dépasse|supera|exced\w*|превыш\w*|초과)~60~{limit}", "the prompt exceeds the model's context of 9000", {"limit": 9000}),
    NumberRow(rf"(?:{_LIMIT_NOUN})(?: of this model| for this model)?(?: is| of| are|,|:|=|는|은|は| von| de| di)*(?: only| to| at most)? ?{{limit}}", "maximum context length is 30,000 tokens", {"limit": 30000}),
    NumberRow(r"{limit}[ -](?:tokens? |jetons )?(?:au )?(?:maximum|max\b|limit|at most|context|token (?:context|limit|window))", "for a model with 9000 maximum context length", {"limit": 9000}),
    NumberRow(r"(?:max(?:imum)?(?: size)?|limit(?: for this model)?|up to|at most|(?:only|can)(?: only)? (?:accepts?|supports?|process|handle)|supports?|accepts?|allowed|capacity|最大(?:支持)?|最多(?:支持)?|上限(?:为|是)?|allows?)(?: is| of| are|:|=)*(?: up to| at most)? ?{limit}", "Max size: 9000 tokens", {"limit": 9000}),
    NumberRow(r"(?:\b(?:to|stay|keep\w*|is|remain) (?:below|under|within)|máx\w*|max\w*|limite?)[.: ]{1,3}{limit}", "shorten it to below 9000 tokens", {"limit": 9000}),
    NumberRow(r"(?:\b(?:model|engine|deployment|server|endpoint)s? (?:only )?(?:has|takes|holds|reads|serves|allows)(?: up to)?|최대|tối đa|maksim\w*|höchstens|maximaal|en fazla|не (?:более|больше)) ?{limit}", "model has 9000", {"limit": 9000}),
    NumberRow(r"> ?(?:the )?(?:max\w*|limit|context)[ _a-z]{0,16} ?{limit}", "5000 + 4000 > max seq len 8000", {"limit": 8000}),
    NumberRow(r"limit\w* (?:\w+ )?to {limit}", "please limit yourself to 9000 tokens", {"limit": 9000}),
    NumberRow(r"{limit} ?(?:을|를)? ?초과", "값이 9000을 초과했습니다", {"limit": 9000}),
    NumberRow(r"{limit} ?(?:个|tokens?)? ?(?:tokens?)? ?以内", "请控制在 9000 tokens 以内", {"limit": 9000}),
    NumberRow(r"(?:(?:must|should) be (?:< ?=?|less than or equal to|shorter than|fewer than|less than|below|under|at most)|is below|available) ?{limit}", "input tokens (5000) plus prefix length (0) must be < 4100", {"limit": 4100}),
    NumberRow(rf"{{prompt}} (?:{TOKENS})?[^\d\n]{{0,30}}(?:exceed\w*|(?:is|are|were|was) (?:longer|larger|greater|bigger|more)|over\b|>|which does not fit|won't fit|überschr\w*|超过|超出)", "request (9100 tokens) exceeds the available context size", {"prompt": 9100}),
    NumberRow(r"(?:requested|received|given|got|but|request contains|contains|you (?:sent|have passed|passed)|request input token count|count(?: of)?|length(?: of)?|input tokens|prompt tokens|prompt of|need[s]?|actual)(?: is|:| about| at least| the request contains)* ?\(?{prompt}", "Requested input length 9100 exceeds maximum input length 8000", {"prompt": 9100}),
    NumberRow(rf"{CONTEXT}[^\d\n]{{0,16}}\({{limit}}[ )]", "för modellens kontextfönster (9000 token)", {"limit": 9000}),
    NumberRow(rf"(?:limit\w*|max\w*|{CONTEXT})[^\d\n]{{0,24}}[:(] ?{{limit}}", "limit kontekstu modelu: 9000", {"limit": 9000}),
)  # fmt: skip

_COMPILED = tuple((row.compiled(), row.sure) for row in ROWS)
_STATUS = re.compile(
    r"^\W*(?:\w+ )?(?:error:? ?)?\d{3}\b(?! ?tokens)|\b\w*error:? ?\d{3,5}:|\((?:2013|1039)\)|\b(?:status(?: code)?|error(?: code)?|http|code)[:=]? ?\d{3}\b"
)
_LEFT_OVER = re.compile(_N.replace("{0}", "n"))
_AT_LEAST = re.compile(r"at least \d[\d,]* (?:input |prompt )?tokens")


def extract_numbers(text: str, structured: Mapping[str, int] | None = None) -> dict[str, int]:
    """
    Return the numbers that folded *text* states; *structured* ones win.
    """
    found: dict[str, int] = {}
    text = _STATUS.sub(" ", text)
    for pattern, sure in _COMPILED:
        _take(pattern, text, found, sure=sure)
    _take_left_over(text, found)
    found.update(structured or {})
    return _plausible(found)


def is_lower_bound(text: str) -> bool:
    """
    Say whether the prompt is given as "at least N": such an N is derived from the window.
    """
    return _AT_LEAST.search(text) is not None


def to_int(text: str) -> int:
    """
    Return the number that *text* writes with commas, a fraction or a ``k`` or ``m``.
    """
    plain = text.replace(",", "").replace("_", "").replace(" ", "")
    scale = {"k": 1_000, "m": 1_000_000}.get(plain[-1:], 1)
    return int(float(plain.rstrip("km")) * scale)


def _take(pattern: re.Pattern[str], text: str, found: dict[str, int], *, sure: bool) -> None:
    """
    Add what *pattern* finds, unless a number is one that is known already under another name.
    """
    for match in pattern.finditer(text):
        values = {name.rstrip("_"): to_int(value) for name, value in match.groupdict().items() if value}
        values["prompt"] = values.get("prompt", 0) + values.pop("tools", 0)
        new = {name: value for name, value in values.items() if value and name not in found}
        if new and (sure or not set(new.values()) & set(found.values())):
            found.update(new)
            return


def _take_left_over(text: str, found: dict[str, int]) -> None:
    """
    Where words were no help: of two numbers of which one is the limit, the other is the prompt, and the larger.
    """
    seen = {to_int(match["n"]) for match in _LEFT_OVER.finditer(text)}
    numbers = sorted(n for n in seen if n >= SMALLEST_LIMIT and n not in (400, 413, 422, 429, 500, 503))
    if len(numbers) != 2 or {"output", "excess", "total"} & found.keys():
        return
    if not {"prompt", "limit"} <= found.keys():
        found["limit"], found["prompt"] = numbers


def _plausible(found: dict[str, int]) -> dict[str, int]:
    """
    Drop a limit that no model has, and derive what the others imply.
    """
    if found.get("limit", SMALLEST_LIMIT) < SMALLEST_LIMIT:
        del found["limit"]
    if "excess" in found and "limit" in found and "prompt" not in found:
        found["prompt"] = found["limit"] + found["excess"]
    return found
