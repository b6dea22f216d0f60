"""
What holds of every text.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.tokens.estimate import estimate
from proxy.tokens.vocabulary import CHUNK_CHARS, Vocabulary, chunks

VOCABULARY = Vocabulary()
VOCABULARY.load()

texts = st.text(alphabet=st.characters(codec=None), max_size=400)


@given(texts)
@settings(max_examples=150, deadline=None)
def test_a_count_is_between_nothing_and_the_bytes(text):
    """
    Lone surrogates and controls included.
    """
    size = len(text.encode("utf-8", "replace"))
    wide = len(text.encode("utf-8", "surrogatepass"))

    assert (text != "") <= VOCABULARY.count(text) <= wide
    assert (text != "") <= estimate(text) <= size


@given(texts)
@settings(max_examples=60, deadline=None)
def test_a_count_is_tiktokens(text):
    """
    Nothing of ours stands between the text and the encoding.
    """
    assert VOCABULARY.count(text) == len(VOCABULARY._encoding.encode_ordinary(text))


@given(st.lists(st.sampled_from(["\n", " ", "a" * 9_000, "word ", "x" * 20_000, "\u00a0"]), max_size=30))
@settings(max_examples=60, deadline=None)
def test_cutting_loses_nothing(pieces):
    """
    Whatever the text is made of.
    """
    text = "".join(pieces)
    cut = list(chunks(text))

    assert "".join(cut) == text
    assert all(len(piece) <= CHUNK_CHARS for piece in cut)
