"""
The results as a table.
"""

from collections.abc import Iterator

from bench.speed.compare import Worse
from bench.speed.figures import Spread
from bench.speed.goals import Verdict, best_peer, verdicts, workers
from bench.speed.targets import OURS

PARTS = ("p50", "p99", "p999")


def table(results: dict, worse: list[Worse]) -> str:
    """
    Return everything that was measured, for people.
    """
    lines = (*_head(results, worse), *goals(results), *_scenarios(results, worse), *notes(results))
    return "\n".join(lines) + "\n"


def _head(results: dict, worse: list[Worse]) -> Iterator[str]:
    facts = results["machine"]
    load = ", ".join(f"{one:.1f}" for one in facts["load_before"])
    yield f"# Speed at {results['commit']}{' (quick)' if results['quick'] else ''}"
    yield ""
    yield (
        f"{results['taken']}, {results['seconds']:.0f} s. {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, "
        f"load before {load}, after {results['load_after'][0]:.1f}; upstream {results['upstream']}."
    )
    yield "CPU is that of the proxy's processes. Medians over rounds taken in turn (lowest to highest)."
    yield ""
    against = results.get("compared_with")
    if against is None:
        yield "No earlier run of this kind on this kind of machine to compare with."
    elif not worse:
        yield f"Beside {against}: nothing is worse beyond the spread."
    else:
        yield f"Beside {against} these are **worse** beyond the spread:"
        yield ""
        yield from (f"- {one}" for one in worse)


def goals(results: dict) -> Iterator[str]:
    """
    Return the lines of the table of goals.
    """
    yield ""
    yield "| goal | measured | at most | aim | |"
    yield "|---|---|---|---|---|"
    yield from map(_goal, verdicts(results))


def _goal(verdict: Verdict) -> str:
    goal = verdict.goal
    limit = f"{goal.limit:g} {goal.unit}{' or more' if goal.more else ''}"
    aim = "" if goal.aim is None else f"{goal.aim:g} {goal.unit}"
    return f"| {goal.name} | {spread_text(verdict.told, 2)} {goal.unit} | {limit} | {aim} | {verdict.word} |"


def _scenarios(results: dict, worse: list[Worse]) -> Iterator[str]:
    marked = {(one.scenario, one.target, one.figure) for one in worse}
    yield ""
    yield "| scenario | target | CPU us | CPU x bare | time x bare | a second | added p50, p99, p99.9 ms | p99 x bare | MB | failed |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for scenario, targets in results["scenarios"].items():
        for name, told in targets.items():
            yield _row(scenario, name, told, {figure for one, two, figure in marked if (one, two) == (scenario, name)})


def _row(scenario: str, name: str, told: dict, marked: set[str]) -> str:
    added = [told.get(f"added_{part}_ms") for part in PARTS]
    beside = name not in {"direct", "bare"}

    def of_bare(figure: str) -> str:
        text = spread_text(told.get(figure), 2) if beside else ""
        return f"**{text} worse**" if figure in marked else text

    memory = f"{told['memory_mb']['median']:.0f}{' **worse**' if 'memory_mb' in marked else ''}"
    columns = (
        scenario,
        name,
        spread_text(told["cpu_us"], 0 if told["cpu_us"]["median"] >= 100 else 1),
        of_bare("ratio"),
        of_bare("time_ratio"),
        f"{told['per_second']['median']:.0f}",
        "" if name == "direct" else ", ".join(f"{one['median']:.2f}" for one in added if one),
        of_bare("p99_ratio"),
        memory,
        str(told["failures"]),
    )
    return f"| {' | '.join(columns)} |"


def spread_text(told: Spread | None, digits: int) -> str:
    """
    Return a median with its spread in words.
    """
    if not told:
        return ""
    return f"{told['median']:.{digits}f} ({told['low']:.{digits}f} to {told['high']:.{digits}f})"


def notes(results: dict) -> Iterator[str]:
    """
    Return a line for everything that is no scenario.
    """
    yield ""
    yield "Figures of SSE are those of a chunk; its latency is from the upstream's write to the client's read."
    yield ""
    yield from _workers(results)
    yield from _best_peers(results)
    yield from _beside(results)
    yield from _recognition(results)
    for told in results.get("growth", []):
        hop = f", through the bare hop {told['bare_ms']:.1f}" if "bare_ms" in told else ""
        yield f"- One more turn at {told['tokens'] // 1000}K tokens: {told['cpu_ms']:.1f} ms of CPU{hop}."
    if results.get("leak"):
        told = ", ".join(f"{one['requests'] // 1000}K {one['memory_mb']:.1f}" for one in results["leak"])
        failed = sum(one["failures"] for one in results["leak"])
        yield f"- Memory in MB after requests: {told}; {failed} failed."
    for name, why in (results.get("peers_left_out", {}) | results.get("not_measured", {})).items():
        yield f"- {name} was left out: {why}"


def _workers(results: dict) -> Iterator[str]:
    if found := workers(results):
        told, room = found
        yield (
            f"- Two workers answer {spread_text(told, 2)} times the requests of one. Load generator and upstream need the "
            f"same {results['machine']['cores']} cores; what they use leaves room for {room:.2f} times."
        )


def _best_peers(results: dict) -> Iterator[str]:
    for scenario in results["scenarios"]:
        if found := best_peer(results, scenario):
            name, told = found
            yield f"- {scenario}: the best peer, {name}, takes {spread_text(told, 2)} times the CPU of {OURS}."


def _beside(results: dict) -> Iterator[str]:
    for group, what, other in (
        ("compaction", "a compaction of 1M tokens", "alone"),
        ("images", "chats with 20 MB of images", "bare"),
    ):
        if told := results.get(group):
            parts = (
                f"{word} p50 {told[f'{prefix}p50_ms']['median']:.1f}, p99 {told[f'{prefix}p99_ms']['median']:.1f}, "
                f"worst {spread_text(told[f'{prefix}worst_ms'], 0)} ms"
                for word, prefix in (("", ""), (f"{other}", f"{other}_"))
            )
            yield f"- Small requests beside {what} ({told['seconds']['median']:.1f} s):{'; '.join(parts)}."
            if "resident_mb" in told:
                yield (
                    f"- Memory after it: {told['memory_mb']['median']:.0f} MB (PSS of all processes); with shared pages counted "
                    f"for each process that has them, {told['resident_mb']['median']:.0f} MB (RSS)."
                )


def _recognition(results: dict) -> Iterator[str]:
    if told := results.get("recognition"):
        parts = ", ".join(f"{name} {spread_text(one, 2)} ms" for name, one in told.items())
        yield f"- To know 600 KB again: {parts} of CPU."
