"""
The results as JSON, as a table, and as a plot where matplotlib is installed.
"""

from pathlib import Path

import orjson

try:
    from matplotlib import pyplot as plt
except ImportError:  # an extra
    plt = None


def write(results: dict, folder: Path) -> str:
    """
    Keep the results in *folder* and return the table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_bytes(orjson.dumps(results, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    table = "\n".join(_lines(results)) + "\n"
    (folder / "table.md").write_text(table)
    if plt is not None:
        _plot(results, folder / "plot.png")
    return table


def _lines(results: dict):
    facts = results["machine"]
    yield f"# Speed at {results['commit']}{' (quick)' if results['quick'] else ''}"
    yield ""
    load = ", ".join(f"{one:.1f}" for one in facts["load_before"])
    yield f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, load before {load}, after {results['load_after'][0]:.1f};"
    yield f"upstream {results['upstream']}. CPU is that of the proxy's processes; medians over rounds taken in turn (low to high)."
    yield ""
    yield "| scenario | target | CPU us | x bare | a second | added p50, p99, p99.9 ms | MB | failed |"
    yield "|---|---|---|---|---|---|---|---|"
    for scenario, targets in results["scenarios"].items():
        for name, told in targets.items():
            yield _row(scenario, name, told)
    yield from _special(results)


def _row(scenario: str, name: str, told: dict) -> str:
    added = (
        ", ".join(f"{told[f'added_{p}_ms']['median']:.2f}" for p in ("p50", "p99", "p999"))
        if "added_p50_ms" in told
        else ""
    )
    ratio = _spread(told.get("ratio"), 2) if name not in {"direct", "bare"} else ""
    cpu = _spread(told["cpu_us"], 0)
    return (
        f"| {scenario} | {name} | {cpu} | {ratio} | {told['per_second']['median']:.0f} | {added} "
        f"| {told['memory_mb']['median']:.0f} | {told['failures']} |"
    )


def _spread(told: dict | None, digits: int) -> str:
    if not told:
        return ""
    return f"{told['median']:.{digits}f} ({told['low']:.{digits}f} to {told['high']:.{digits}f})"


def _special(results: dict):
    if "start" in results:
        yield ""
        for name, told in results["start"].items():
            yield f"- Start to /healthz, {name}: {_spread(told, 2)} s."
    if "interference" in results:
        alone, beside = results["interference"]["alone"], results["interference"]["beside"]
        yield (
            f"- Small requests while a million tokens are compacted ({beside['seconds']:.1f} s): p50 {beside['p50_ms']:.1f}, "
            f"p99 {beside['p99_ms']:.1f}, worst {beside['worst_ms']:.0f} ms; alone p50 {alone['p50_ms']:.1f}, "
            f"p99 {alone['p99_ms']:.1f}, worst {alone['worst_ms']:.0f} ms."
        )
    for told in results.get("growth", []):
        if "bytes" in told:
            yield f"- One more turn at {told['tokens'] // 1000}K tokens: {told['cpu_ms']:.1f} ms of CPU."
    if results.get("leak"):
        told = ", ".join(f"{one['requests'] // 1000}K {one['memory_mb']:.1f}" for one in results["leak"])
        yield f"- Memory in MB after requests: {told}."
    for name, why in results.get("peers_left_out", {}).items():
        yield f"- {name} was left out: {why}"


def _plot(results: dict, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
    names = [name for name in results["scenarios"] if "bare" in results["scenarios"][name]]
    for offset, target in enumerate(("bare", "concertina")):
        values = [results["scenarios"][name].get(target, {}).get("cpu_us", {}).get("median", 0) for name in names]
        left.barh([n + offset * 0.4 for n in range(len(names))], values, height=0.4, label=target)
    left.set_yticks([n + 0.2 for n in range(len(names))], names)
    left.set_xscale("log")
    left.set_xlabel("CPU us a request (a chunk for streams)")
    left.legend()
    told = [one for one in results.get("growth", []) if "bytes" in one]
    right.loglog([one["tokens"] for one in told], [one["cpu_ms"] for one in told], marker="o")
    right.set_xlabel("tokens of the conversation")
    right.set_ylabel("CPU ms of one more turn")
    figure.tight_layout()
    figure.savefig(path)
