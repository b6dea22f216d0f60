import orjson
import pytest

from bench.speed.compare import is_worse, newest_earlier, worse
from bench.speed.targets import OURS
from tests.support.speed_results import MACHINE, cell, results


def between(low, median, high):
    return {"low": low, "median": median, "high": high}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        pytest.param(between(1.4, 1.5, 1.6), between(1.7, 1.8, 1.9), True, id="apart"),
        pytest.param(between(1.4, 1.5, 1.6), between(1.5, 1.9, 2.5), False, id="they overlap"),
        pytest.param(between(1.49, 1.5, 1.5), between(1.51, 1.52, 1.53), False, id="apart, but by next to nothing"),
        pytest.param(between(1.7, 1.8, 1.9), between(1.4, 1.5, 1.6), False, id="better"),
    ],
)
def test_calls_worse_what_no_round_of_before_explains(before, now, said):
    """
    A figure is worse when its spread lies above that of before, and by more than few rounds can tell.
    """
    assert is_worse(before, now) is said


def test_finds_a_cell_that_became_dearer_and_no_other():
    """
    Ratios to the bare hop are compared, so that a slower machine alone is no regression.
    """
    before = results({"chat": cell(bare=[100, 100], concertina=[150, 152]), "get": cell(bare=[80], concertina=[90])})
    now = results({"chat": cell(bare=[200, 200], concertina=[500, 510]), "get": cell(bare=[160], concertina=[180])})

    assert [(one.scenario, one.target, one.figure) for one in worse(now, before)][:1] == [("chat", OURS, "ratio")]
    assert not [one for one in worse(now, before) if one.scenario == "get"]


def test_says_nothing_of_other_proxies():
    """
    A peer that became slower is no regression of this project.
    """
    before = results({"chat": cell(bare=[100], concertina=[150], peer=[200])})
    now = results({"chat": cell(bare=[100], concertina=[150], peer=[900])})

    assert worse(now, before) == []


def test_compares_a_scenario_only_where_both_have_it():
    """
    A new scenario, and one that was left out, are no regressions.
    """
    before = results({"old": cell(bare=[100], concertina=[150])})
    now = results({"new": cell(bare=[100], concertina=[900])})

    assert worse(now, before) == []


def kept(folder, **fields):
    place = folder / fields["commit"]
    place.mkdir()
    (place / "results.json").write_bytes(orjson.dumps(results({}, **fields)))


def test_takes_the_newest_earlier_run(tmp_path):
    """
    Neither an older one, nor one of the same commit, nor one that was made later is compared with.
    """
    kept(tmp_path, commit="oldest", taken="2026-01-01T00:00:00+00:00")
    kept(tmp_path, commit="newest", taken="2026-02-01T00:00:00+00:00")
    kept(tmp_path, commit="later", taken="2026-03-01T00:00:00+00:00")
    kept(tmp_path, commit="new", taken="2026-02-01T12:00:00+00:00")

    assert newest_earlier(tmp_path, results({}))["commit"] == "newest"


@pytest.mark.parametrize(
    "other",
    [
        {"quick": True},
        {"upstream": "asyncio"},
        {"machine": MACHINE | {"cores": 64}},
        {"machine": MACHINE | {"cpu": "another"}},
        {"machine": MACHINE | {"python": "3.13.1"}},
    ],
)
def test_compares_only_runs_of_one_kind(tmp_path, other):
    """
    Ratios differ between machines, interpreters, upstreams, and short and long runs, without any regression.
    """
    kept(tmp_path, commit="before", taken="2026-01-01T00:00:00+00:00", **other)

    assert newest_earlier(tmp_path, results({})) is None


def test_takes_a_patch_release_of_python_for_the_same(tmp_path):
    """
    Otherwise each update of the interpreter would make all earlier results useless.
    """
    machine = MACHINE | {"python": "3.11.2"}
    kept(tmp_path, commit="before", taken="2026-01-01T00:00:00+00:00", machine=machine)

    assert newest_earlier(tmp_path, results({}))["commit"] == "before"


def test_tells_both_figures_of_what_is_worse():
    """
    A reader sees how much worse without opening two files.
    """
    before = results({"chat": cell(bare=[100], concertina=[150])})
    now = results({"chat": cell(bare=[100], concertina=[300])})

    assert str(worse(now, before)[0]).startswith("chat, concertina: CPU beside bare was 1.50")
