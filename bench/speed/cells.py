"""
Scenarios, each measured for every target in turn, round after round.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.speed import bodies

Bodies = Callable[[int], list[bytes | None]]


@dataclass(frozen=True)
class Cell:
    """
    One scenario: *bodies* makes the requests of a round, *count* of which go over *connections*.

    *warm* requests come first and are not counted. Where an answer is a stream, *chunks* come one in *pause* milliseconds,
    and all figures are those of a chunk.
    """

    name: str
    bodies: Bodies
    connections: int
    count: int
    rounds: int = 5
    target: str = "POST /v1/chat/completions"
    upstream: str = "canned"
    warm: int = 0
    chunks: int = 0
    pause: float = 0.0

    @property
    def unit(self) -> str:
        """
        What the figures are of.
        """
        return "chunk" if self.chunks else "request"

    def units(self, count: int) -> int:
        """
        Return how many units *count* requests are.
        """
        return count * (self.chunks or 1)

    def shorter(self, chunks: int) -> "Cell":
        """
        Return the same scenario with streams of *chunks*.
        """
        return replace(self, chunks=chunks, bodies=_asks(chunks, self.pause)) if self.chunks else self


def _same(make: Callable[[], bytes | None]) -> Bodies:
    made: list[bytes | None] = []

    def bodies_of(_: int) -> list[bytes | None]:
        if not made:
            made.append(make())
        return made

    return bodies_of


def _sized(size: int, model: str) -> Bodies:
    return _same(lambda: bodies.chat(bodies.conversation(size), model=model))


def _cold(round_: int) -> list[bytes | None]:
    return [bodies.chat(bodies.conversation(600_000, seed=1 + round_ * 10 + n), model="mid") for n in range(2)]


def _asks(chunks: int, pause: float) -> Bodies:
    ask = f"Please stream {chunks} chunks, one in {pause} ms."
    return _same(lambda: bodies.chat([{"role": "user", "content": ask}], model="small", stream=True))


def _stream(streams: int, chunks: int, pause: float, rounds: int) -> Cell:
    name = f"SSE, {streams} at once"
    asks = _asks(chunks, pause)
    return Cell(name, asks, streams, streams, rounds, upstream="stream", chunks=chunks, pause=pause)


MILLION = "1 MB chat, below the threshold"
REUSED = "600 KB chat, record reused"
COLD = "600 KB chat, cold, extractive"
IMAGES = "20 MB of images in a chat"
PACED = "SSE, 200 at once"
STREAMS = ("SSE, 1 at once", "SSE, 50 at once", "SSE, 500 at once")


def cells(*, quick: bool) -> list[Cell]:
    """
    Return what is measured, in ten minutes or in ninety seconds with all else.
    """
    small = _same(bodies.small)
    reused, million = _sized(600_000, "mid"), _sized(1_000_000, "million")
    upload, images = _same(lambda: b"x" * 20_000_000), _same(lambda: bodies.images(20_000_000))
    get, files = "GET /v1/models", "POST /v1/files"

    def pick(full: int, short: int) -> int:
        return short if quick else full

    rounds = pick(5, 2)
    few = pick(3, 2)
    return [
        Cell("small chat", small, 16, pick(4_000, 1_400), rounds),
        Cell("passthrough GET", lambda _: [None], 16, pick(4_000, 1_400), rounds, target=get),
        Cell("small chat, simulator", small, 4, pick(600, 200), few, upstream="simulator"),
        Cell("50 KB chat", _sized(50_000, "small"), 16, pick(1_500, 500), rounds),
        Cell(MILLION, million, 4, pick(120, 30), rounds, warm=4),
        Cell(REUSED, reused, 1, pick(60, 25), rounds, warm=3),
        Cell(COLD, _cold, 1, 2, few),
        Cell("20 MB upload", upload, 1, pick(8, 3), rounds, target=files),
        Cell(IMAGES, images, 1, pick(6, 3), rounds),
        _stream(1, pick(1_000, 250), 1.0, few),
        _stream(50, pick(1_000, 200), 5.0, few),
        _stream(500, pick(1_000, 200), pick(40, 25), few),
        # Ten chunks a second, as a model writes: what counts is how late they are.
        _stream(200, pick(50, 15), 100.0, rounds),
    ]
