"""
The newest figures in docs/speed.md, put there by the run itself, so that nobody copies a number.
"""

from collections.abc import Iterator
from itertools import dropwhile

from bench.speed.report import goals, notes

BEGIN, END = "<!-- newest figures: begin -->", "<!-- newest figures: end -->"


def refreshed(page: str, results: dict, *, folder: str) -> str:
    """
    Return *page* with the figures of *results*, which are kept in *folder*, between its two marks.
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    section = "\n".join(_section(results, folder))
    return f"{before}{BEGIN}\n{section}\n{END}{after}"


def _section(results: dict, folder: str) -> Iterator[str]:
    facts = results["machine"]
    load = f"{facts['load_before'][0]:.1f} before, {results['load_after'][0]:.1f} after"
    yield f"Measured at commit {results['commit']}, {results['taken'][:10]}: {facts['cores']} cores of {facts['cpu']}, load {load},"
    yield f"upstream {results['upstream']}. All scenarios and targets: [the whole table](../{folder}/table.md)."
    yield ""
    yield f"![CPU beside a bare hop, a small chat through every proxy, and cost against length](../{folder}/plot.svg)"
    yield from goals(results)
    yield ""
    yield from dropwhile(lambda line: not line.startswith("- "), notes(results))
