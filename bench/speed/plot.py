"""
The results as a picture: an SVG, which needs no library and is text, so that commits can be compared.
"""

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from bench.speed.cells import COLD
from bench.speed.goals import NO_PEERS
from bench.speed.targets import OURS

WIDTH, HEIGHT = 1180, 470
TOP, BOTTOM = 70, 400
INK, QUIET, LINE = "#1f2933", "#7b8794", "#e4e7eb"
COLOURS = {"bare": "#9aa5b1", OURS: "#2f6fde"}
PEER = "#e08b3e"
MOST_TOKENS, MOST_MS = 2_000_000, 200
"""Where the panel of growth ends."""
STYLE = "font-family:system-ui,'DejaVu Sans',sans-serif;font-size:11px"


def svg(results: dict) -> str:
    """
    Return three panels: CPU beside the bare hop, a small chat through each proxy, and cost against length.
    """
    parts = [
        _text(20, 28, f"Concertina at {results['commit']}: what the proxy costs", size=16),
        _text(
            20, 46, f"{results['machine']['cpu']}, {results['machine']['cores']} cores, {results['taken'][:10]}", QUIET
        ),
        *_ratios(results, 230, 400),
        *_proxies(results, 560, 760),
        *_growth(results, 860, 1140),
    ]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" style="{STYLE}">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _ratios(results: dict, left: float, right: float) -> Iterator[str]:
    # A compaction without a model is work that a hop does not do.
    found = {
        name: cell[OURS]["ratio"]
        for name, cell in results["scenarios"].items()
        if name != COLD and cell.get(OURS, {}).get("ratio")
    }
    scale = Log(0.5, max([2.0, *(one["high"] for one in found.values())]) * 1.2, left, right)
    yield _text(20, TOP - 4, "CPU of a request (SSE: of a chunk) beside a bare hop, times")
    yield from _upright(scale, [tick for tick in (0.5, 1, 2, 5, 10, 20, 50) if scale.holds(tick)])
    yield _line(scale(1), TOP + 6, scale(1), BOTTOM, COLOURS["bare"], 2)
    step = (BOTTOM - TOP - 12) / max(len(found), 1)
    for number, (name, told) in enumerate(found.items()):
        y = TOP + 18 + number * step
        yield _text(left - 14, y + 4, name, anchor="end")
        yield _line(scale(told["low"]), y, scale(told["high"]), y, COLOURS[OURS], 3)
        yield _dot(scale(told["median"]), y)
        yield _text(max(scale(told["high"]), scale(told["median"]) + 5) + 6, y + 4, f"{told['median']:.2f}", QUIET)


def _proxies(results: dict, left: float, right: float) -> Iterator[str]:
    cell = results["scenarios"].get("small chat", {})
    found = {name: told["cpu_us"] for name, told in cell.items() if name == OURS or name not in NO_PEERS | {OURS}}
    found |= {"bare": cell["bare"]["cpu_us"]} if "bare" in cell else {}
    scale = Log(10, max([1_000.0, *(one["high"] for one in found.values())]) * 1.5, left, right)
    yield _text(left - 100, TOP - 4, "CPU of a small chat, microseconds")
    yield from _upright(scale, [tick for tick in (10, 100, 1_000, 10_000, 100_000) if scale.holds(tick)])
    for number, (name, told) in enumerate(sorted(found.items(), key=lambda one: one[1]["median"])):
        y = TOP + 26 + number * 34
        length = scale(told["median"]) - left
        yield f'<rect x="{left}" y="{y - 8:.1f}" width="{length:.1f}" height="16" rx="2" fill="{COLOURS.get(name, PEER)}"/>'
        yield _text(left - 8, y + 4, name, anchor="end")
        yield _text(left + length + 6, y + 4, f"{told['median']:.0f}", QUIET)


def _growth(results: dict, left: float, right: float) -> Iterator[str]:
    found = [(one["tokens"], one["cpu_ms"]) for one in results.get("growth", [])]
    yield _text(left - 40, TOP - 4, "CPU of one more turn, ms, against the conversation's tokens")
    if not found:
        yield _text(left, TOP + 40, "not measured in this run", QUIET)
        return
    across = Log(5_000, MOST_TOKENS, left, right)
    up = Log(0.5, MOST_MS, BOTTOM, TOP + 10)
    yield from _upright(across, [10_000, 100_000, 1_000_000], words=("10K", "100K", "1M"))
    for tick in (1, 10, 100):
        yield _line(left, up(tick), right, up(tick), LINE, 1)
        yield _text(left - 8, up(tick) + 4, f"{tick}", QUIET, anchor="end")
    tokens, took = found[0]
    last = min(MOST_TOKENS, tokens * MOST_MS / took)
    yield _path([(across(tokens), up(took)), (across(last), up(took * last / tokens))], QUIET, dashed=True)
    yield _text(right - 2, BOTTOM - 10, "dashed: in proportion to the whole", QUIET, anchor="end")
    if beside := [(one["tokens"], one["bare_ms"]) for one in results["growth"] if "bare_ms" in one]:
        yield _path([(across(x), up(y)) for x, y in beside], COLOURS["bare"])
        yield _text(across(beside[0][0]), up(beside[0][1]) + 16, "bare hop", QUIET)
    yield _path([(across(x), up(y)) for x, y in found], COLOURS[OURS])
    for tokens, took in found:
        yield _dot(across(tokens), up(took))
        yield _text(across(tokens) - 4, up(took) - 10, f"{took:.1f}", QUIET, anchor="middle")


class Log:
    """
    A logarithmic scale from *low* to *high* on a stretch of the picture.
    """

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self._low, self._high, self._begin, self._end = low, high, begin, end

    def __call__(self, value: float) -> float:
        share = math.log(max(value, self._low) / self._low) / math.log(self._high / self._low)
        return self._begin + min(share, 1.0) * (self._end - self._begin)

    def holds(self, value: float) -> bool:
        """
        Say whether *value* lies on the scale.
        """
        return self._low <= value <= self._high


def _upright(scale: Log, ticks: list[float], words: tuple[str, ...] = ()) -> Iterator[str]:
    for number, tick in enumerate(ticks):
        yield _line(scale(tick), TOP + 6, scale(tick), BOTTOM, LINE, 1)
        yield _text(scale(tick), BOTTOM + 16, words[number] if words else f"{tick:,g}", QUIET, anchor="middle")


def _text(x: float, y: float, text: str, fill: str = INK, *, anchor: str = "start", size: int = 11) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def _path(points: list[tuple[float, float]], stroke: str, *, dashed: bool = False) -> str:
    d = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    style = 'stroke-width="1.5" stroke-dasharray="4 4"' if dashed else 'stroke-width="2"'
    return f'<path d="M{d}" fill="none" stroke="{stroke}" {style}/>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{COLOURS[OURS]}" stroke="#fff"/>'
