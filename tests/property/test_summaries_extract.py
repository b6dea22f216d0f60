from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.compaction.handover import END_MARKER, unwrap, wrap
from proxy.privacy.injection import strip_invisible
from proxy.privacy.redact import redact
from proxy.summaries.extractive import extract
from proxy.summaries.grounding import ground
from tests.support.summaries import count, job

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=120) | st.sampled_from(
    [
        "Never touch a/b.py.",
        "The limit is 30s.",
        "The limit is now 45s.",
        "必须保留 x_1。",
        "ERROR 5512 in q",
        END_MARKER,
        "## Goal",
        '{"a": [1, {"b": 2}]}',
    ]
)
CONTENT = (
    st.none()
    | TEXT
    | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}), max_size=2)
    | st.integers()
)
ROW = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "odd"]), "content": CONTENT}
)
CALL = st.builds(
    lambda name, raw: {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": name, "arguments": raw}}]},
    st.sampled_from(["read_file", "todo_write", "x"]),
    st.sampled_from(["{}", "{", '{"path": "a/b.py"}', '{"todos": [{"content": "wire it"}]}', "[1]"]),
)
ROWS = st.lists(ROW | CALL, max_size=12)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.integers(1, 400), TEXT)
def test_extract_fits_and_repeats_itself(rows, budget, ask):
    """Any rows, any budget: within it, the same bytes twice, nothing that ends a summary."""
    text = extract(job(rows, budget, first_ask=ask), count)

    assert count(text) <= budget
    assert END_MARKER not in text
    assert extract(job(rows, budget, first_ask=ask), count) == text


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(10, 400), TEXT)
def test_grounding_fits(rows, budget, text):
    """Whatever a model wrote."""
    assert count(ground(text, job(rows, budget), count)) <= budget


@settings(max_examples=200, deadline=None)
@given(TEXT, st.sampled_from(["en", "zh", "ja", "xx"]), st.booleans())
def test_wrapping_can_be_undone(text, language, tiny):
    """Unwrapping gives the text that is wrapped, and wrapping again adds nothing."""
    wrapped = wrap(text, language=language, tiny=tiny)

    assert wrap(wrapped, language=language, tiny=tiny) == wrapped
    assert wrap(unwrap(wrapped), language=language, tiny=tiny) == wrapped


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=200) | st.from_regex(r"(api_key|token|password)[=:] ?[\"']?[a-z0-9\[\]:=/@]{3,30}", fullmatch=True)
)
def test_masking_twice_changes_nothing(text):
    """Masked text is stable."""
    assert redact(redact(text)) == redact(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_stripping_twice_changes_nothing(text):
    """Stripped text is stable."""
    assert strip_invisible(strip_invisible(text)) == strip_invisible(text)
