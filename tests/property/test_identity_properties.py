"""
Identity, for any history a client may send.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.records.identity import divergence, prefix_digests, row_digest
from tests.property.strategies import json_values

SEED = b"seed"
# A loaded machine is no counter-example.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXTS = st.text(alphabet=st.characters(), max_size=12)
JSON = json_values(keys=TEXTS, nan=False)
PARTS = st.builds(lambda text: {"type": "text", "text": text}, TEXTS) | st.dictionaries(
    st.sampled_from(["type", "text", "image_url", "file", "x"]), JSON, max_size=3
)
ROWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])},
    optional={"content": TEXTS | st.lists(PARTS, max_size=3) | JSON, "name": TEXTS, "tool_calls": JSON, "weight": JSON},
)
HISTORIES = st.lists(ROWS | JSON, max_size=6)


@calm
@given(HISTORIES, HISTORIES)
def test_what_follows_never_changes_what_came_before(history, more):
    """The digests of a history are the first digests of any history that goes on from it."""
    body = [{"role": "user", "content": "first"}, *history]

    assert prefix_digests([*body, *more], seed=SEED)[: len(body)] == prefix_digests(body, seed=SEED)


@calm
@given(HISTORIES, HISTORIES)
def test_divergence_is_the_length_of_the_shared_prefix(one, other):
    """Bisecting finds what walking finds."""
    left, right = prefix_digests(one, seed=SEED), prefix_digests(other, seed=SEED)
    walked = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))

    assert divergence(left, right) == walked


@calm
@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_keys_never_counts(row, random):
    """JSON objects have no order."""

    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    assert row_digest(shuffled(row)) == row_digest(row)


@calm
@given(TEXTS)
def test_text_and_one_text_part_are_one(text):
    """Clients move between the two forms to place a cache mark."""
    part = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}

    assert row_digest({"role": "user", "content": text}) == row_digest({"role": "user", "content": [part]})


@calm
@given(st.lists(TEXTS.filter(bool), max_size=4), st.lists(TEXTS.filter(bool), max_size=4))
def test_different_texts_have_different_digests(one, other):
    """Where parts begin and end counts, whatever they contain."""

    def row(texts):
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}

    assert (row_digest(row(one)) == row_digest(row(other))) == (one == other)
