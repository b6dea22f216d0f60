"""
Give a focus topic its share of the room: two thirds, the rest stays for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from proxy.chat.language import words
from proxy.summaries.ledger.fill import Stage
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.sections import Section

FOCUS_SHARE = 0.65
# Said of any topic, so that they tell nothing about which one is meant.
_GENERIC = words(
    "module modules file files function functions code part parts issue issues problem problems thing things work task "
    "tasks everything project section topic please keep details 模块 文件 代码 部分 问题 任务 内容"
)


def topic_features(topic: str, lexicon: Lexicon) -> frozenset[int]:
    """
    Return the features that a line about *topic* shares with it.
    """
    telling = " ".join(word for word in topic.split() if word.casefold().strip(".,:;!?") not in _GENERIC)
    return frozenset(lexicon.features(telling or topic))


def focused_stages(stages: Sequence[Stage], wanted: set[int]) -> Iterator[Stage]:
    """
    Yield *stages* with one before them for the candidates *wanted*, by identity, and what is left to all at the end.

    In between only rules of the user are taken of the topic, which would else take nearly all.
    """

    def is_wanted(candidate: Candidate) -> bool:
        return id(candidate) in wanted and candidate.section is not Section.GOAL

    yield Stage(FOCUS_SHARE, is_wanted)
    for stage in stages:
        yield Stage(stage.share, _beside(stage, wanted), whole=stage.whole)
    yield stages[-1]


def _beside(stage: Stage, wanted: set[int]) -> Callable[[Candidate], bool]:
    return lambda candidate: stage.accepts(candidate) and (candidate.must or id(candidate) not in wanted)
