"""
The o200k_base vocabulary, from the package itself: no network, no cache folder, ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tiktoken import Encoding

from proxy.tokens.estimate import estimate
from proxy.tokens.table import ENCODING_NAME, TABLE_FILE, unpack

CHUNK_CHARS = 16_384
MOST_EXACT_CHARS = 4 * 1024 * 1024
"""Of a longer text, a million tokens that no window holds beside anything else, so much is counted and the rest inferred."""
_NOTHING_SPECIAL: frozenset[str] = frozenset()
_BYTES_PER_TOKEN = 4  # of the buffer that tiktoken fills
_SPECIAL_TOKENS = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
_RULES = (  # as in tiktoken_ext.openai_public, whose function would go to the network for the table
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)
_PATTERN = "|".join(_RULES)


class Vocabulary:
    """
    Counts the tokens of strings: exactly once loaded, by estimate before, and never with an exception.
    """

    def __init__(self, path: Path = TABLE_FILE) -> None:
        self._path = path
        self._encoding: Encoding | None = None
        self._tried = False

    @property
    def ready(self) -> bool:
        """
        Whether counts are exact.
        """
        return self._encoding is not None

    @property
    def failed(self) -> bool:
        """
        Whether loading was tried in vain: counts stay estimates.
        """
        return self._tried and self._encoding is None

    def load(self) -> None:
        """
        Read the table and build the encoding: half a second of work, so call it in a thread.

        Raises ``OSError`` or ``ValueError`` where the table is missing or damaged; counts then stay estimates.
        """
        for _ in self.loading():
            pass

    def loading(self) -> Iterator[None]:
        """
        Do the same in steps, for whoever has something to do in between.
        """
        if self._encoding is not None:
            return
        try:
            tokens = unpack(self._path.read_bytes())
            yield
            self._encoding = _encoding(tokens)
        finally:
            self._tried = True

    def count(self, text: str) -> int:
        """
        Return the tokens of *text*; names of special tokens in it are plain text.
        """
        encoding = self._encoding
        if encoding is None:
            return estimate(text)
        if len(text) <= CHUNK_CHARS:
            return _count(encoding, text)
        if len(text) > MOST_EXACT_CHARS:
            return _inferred(encoding, text)
        return sum(_count(encoding, chunk) for chunk in chunks(text))


def _encoding(tokens: list[bytes]) -> Encoding:
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = Encoding(ENCODING_NAME, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL_TOKENS)
    # It has a copy of its own; this one would hold 22 MB in every process, for nothing that is ever asked of it.
    ranks.clear()
    return encoding


def chunks(text: str) -> Iterator[str]:
    """
    Cut *text* into pieces of at most 16,384 characters, after a newline or before a space where there is one.

    The regex of o200k runs out of stack on runs of a million blanks, and time grows faster than length.
    """
    start = 0
    while len(text) - start > CHUNK_CHARS:
        end = start + CHUNK_CHARS
        middle = start + CHUNK_CHARS // 2
        newline = text.rfind("\n", middle, end)
        space = text.rfind(" ", middle, end) if newline < 0 else -1
        cut = newline + 1 if newline >= 0 else max(space, 0) or end
        yield text[start:cut]
        start = cut
    yield text[start:]


def _inferred(encoding: Encoding, text: str) -> int:
    """
    Return the tokens of a very long text, by those of pieces spread evenly over it.
    """
    pieces = MOST_EXACT_CHARS // CHUNK_CHARS
    starts = [(len(text) - CHUNK_CHARS) * number // (pieces - 1) for number in range(pieces)]
    counted = sum(_count(encoding, text[start : start + CHUNK_CHARS]) for start in starts)
    return counted * len(text) // MOST_EXACT_CHARS


def _count(encoding: Encoding, text: str) -> int:
    try:
        # The buffer holds the interpreter lock for less long than the list of encode_ordinary.
        buffer = encoding._core_bpe.encode_to_tiktoken_buffer(text, _NOTHING_SPECIAL)  # noqa: SLF001
    except UnicodeEncodeError:
        return _count(encoding, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except AttributeError:
        return len(encoding.encode_ordinary(text))
    except BaseException as exc:  # a panic in Rust is no Exception
        if isinstance(exc, Exception) or type(exc).__name__ == "PanicException":
            return estimate(text)
        raise
    return memoryview(buffer).nbytes // _BYTES_PER_TOKEN
