from itertools import pairwise

import pytest

from proxy.summaries.extractive import extract
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.roles import find_turns, weigh
from proxy.summaries.ledger.segments import MOST_TOPICS, likeness, shares, topics
from proxy.summaries.ledger.units import read
from tests.support.summaries import assistant, count, job, user

GARDEN = (
    ("Which soil do tomatoes want in the garden bed?", "Tomatoes want loose soil, and compost in the garden bed."),
    ("How much compost for the tomatoes?", "Two buckets of compost a bed, dug into the soil before planting."),
)
TAXES = (
    ("Can I deduct the office from the income tax?", "The office is deducted from income tax where it is a room."),
    ("What does the tax form say of the office room?", "The tax form wants its area; deduct that share of the rent."),
)
MUSIC = (
    ("Transpose the sonata for the clarinet.", "The sonata goes up a tone for the clarinet, since it sounds lower."),
    ("Is the trill of the sonata playable?", "On the clarinet the trill of the sonata needs the side key."),
)
BREAD = (
    ("Why does my sourdough loaf stay flat?", "The sourdough starter is weak; feed the starter twice, then bake."),
    ("How long does the loaf of sourdough rest?", "The loaf rests four hours, the starter being lively, then bake."),
)
ZH = (
    ("故宫附近有什么酒店推荐吗？", "故宫附近的酒店有北京饭店，酒店评分很高。"),
    ("这个酒店离故宫多远？", "酒店离故宫步行十分钟。"),
    ("番茄炒鸡蛋要放多少盐？", "番茄炒鸡蛋放半勺盐就够了，鸡蛋先炒。"),
    ("鸡蛋和番茄哪个先下锅？", "鸡蛋先下锅，番茄后放。"),
)
JA = (
    ("京都のホテルを予約したいです。", "京都のホテルは駅前が便利です。ホテルを予約しました。"),
    ("そのホテルは京都駅から近いですか。", "ホテルは京都駅から徒歩五分です。"),
    ("味噌汁の作り方を教えて。", "味噌汁はだしを温め、味噌を溶かします。"),
    ("味噌はいつ溶かすの？", "味噌汁の味噌は火を止めてから溶かします。"),
)


def spoken(*turns: tuple[str, str]) -> list:
    return [row for asked, answered in turns for row in (user(asked), assistant(answered))]


def topic_of_each_turn(*turns: tuple[str, str]) -> list[int]:
    rows = spoken(*turns)
    lexicon, reading, found = Lexicon(), read(rows), find_turns(rows, live=True)
    features = [lexicon.features(unit.text) for unit in reading.units]
    candidates = [weigh(u, f, lexicon, turns=found, calls=()) for u, f in zip(reading.units, features, strict=True)]
    of_row = topics(candidates, lexicon.weights(features))
    return [of_row[2 * number] for number in range(len(turns))]


def test_turns_that_share_words_are_one_topic():
    """And a turn about something else begins another."""
    assert topic_of_each_turn(*GARDEN, *TAXES, *MUSIC, *BREAD) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_topic_split_by_an_interruption_is_one():
    """What comes back to an earlier topic belongs to it, and makes it the newer of the two."""
    assert topic_of_each_turn(GARDEN[0], *TAXES, GARDEN[1]) == [1, 0, 0, 1]


@pytest.mark.parametrize("turns", [ZH, JA], ids=["chinese", "japanese"])
def test_scripts_without_spaces_have_topics(turns):
    """By their pairs of characters."""
    assert topic_of_each_turn(*turns) == [0, 0, 1, 1]


def test_many_small_topics_are_merged():
    """So that each has a share worth having."""
    turns = [(f"What of alpha{n}q and beta{n}q?", f"The alpha{n}q needs the beta{n}q.") for n in range(40)]
    both = [turn for turn in turns for _ in range(2)]

    assert max(topic_of_each_turn(*both)) < MOST_TOPICS


def test_nothing_said_has_no_topics():
    """An empty conversation is none."""
    assert topics([], []) == {}


def test_newer_topics_have_the_larger_share():
    """And all shares together are the room."""
    of_four = shares(4)

    assert of_four == sorted(of_four)
    assert of_four[-1] == pytest.approx(1.5 * of_four[0])
    assert sum(of_four) == pytest.approx(1)


def test_likeness_is_measured_against_the_smaller():
    """A short turn within a long topic is alike to it."""
    assert likeness({1: 2.0, 2: 2.0}, {2: 2.0, 3: 9.0, 4: 9.0}) == 0.5
    assert likeness({}, {2: 2.0}) == 1.0


SAILING = ("rudder", "harbour", "tide", "anchor", "sheet", "mast", "breeze", "jetty", "lagoon", "hull")
POTTERY = ("kiln", "glaze", "clay", "wheel", "vase", "handle", "slip", "cone", "saucer", "rim")
BEEKEEPING = ("hive", "smoker", "queen", "nectar", "frame", "swarm", "veil", "wax", "comb", "drone")


def told(subject: str, things: tuple[str, ...]) -> list:
    lines = [f"The {one} in {subject} goes with the {other}." for one, other in pairwise(things)]
    return [row for line in lines for row in (user("Go on."), assistant(line))]


def decided(subject: str, *, turns: int) -> list:
    lines = [f"I decided to use {subject}_{n}_option at /srv/{subject}/{n * 37}.conf." for n in range(turns)]
    return [row for line in lines for row in (user("Go on."), assistant(line))]


def test_each_of_four_topics_keeps_something_at_a_tenth():
    """Three plain ones in the middle beside one full of decisions and names, which alone would fill the room."""
    plain = {"sailing": SAILING, "pottery": POTTERY, "beekeeping": BEEKEEPING}
    rows = [
        *(row for subject, things in plain.items() for row in told(subject, things)),
        *decided("gateway", turns=120),
    ]
    budget = sum(count(row["content"]) for row in rows) // 10

    text = extract(job(rows, budget), count)

    assert [subject for subject in (*plain, "gateway") if subject not in text] == []
    assert text == extract(job(rows, budget), count)
