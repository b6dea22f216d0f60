import orjson

from bench.speed.__main__ import keep, verdict
from tests.support.speed_results import cell, results


def run(ratio, **fields):
    return results({"small chat": cell(direct=[8], bare=[100], concertina=[100 * ratio])}, **fields)


def test_a_regression_is_seen_and_fails_a_strict_run_alone(tmp_path):
    """
    Runs are kept one after the other; the one that costs more is told of, and only by wish is that an error.
    """
    keep(run(1.5, commit="a", taken="2026-01-01T00:00:00+00:00"), tmp_path / "a", earlier=tmp_path)
    same = keep(run(1.5, commit="b", taken="2026-01-02T00:00:00+00:00"), tmp_path / "b", earlier=tmp_path)
    dearer = keep(run(2.0, commit="c", taken="2026-01-03T00:00:00+00:00"), tmp_path / "c", earlier=tmp_path)

    assert (same, [one.figure for one in dearer][:1]) == ([], ["ratio"])
    assert [verdict(same, strict=True), verdict(dearer, strict=False), verdict(dearer, strict=True)] == [0, 0, 1]


def test_keeps_figures_a_table_and_a_picture(tmp_path):
    """
    What is kept says what it was compared with.
    """
    keep(run(1.5, commit="a", taken="2026-01-01T00:00:00+00:00"), tmp_path / "a", earlier=tmp_path)
    keep(run(1.5, commit="b"), tmp_path / "b", earlier=tmp_path)

    assert {file.name for file in (tmp_path / "b").iterdir()} == {"results.json", "table.md", "plot.svg"}
    told = orjson.loads((tmp_path / "b" / "results.json").read_bytes())
    assert told["compared_with"] == "a of 2026-01-01T00:00:00+00:00"
