import pytest

from proxy.config.document import read_document


def value(text: str, **environ: str) -> object:
    """
    Return the value of ``a``, which has no mistake.
    """
    document = read_document(text, source="f", environ=environ)

    assert document.mistakes == []
    return document.data["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("off", "off"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("64_000", 64000),
        ("-5", -5),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-2", 0.01),
        ("~", None),
        ("", None),
        ("'null'", "null"),
        ("'5'", "5"),
        ("[1, x, null]", [1, "x", None]),
        ("{b: {c: 1}}", {"b": {"c": 1}}),
        ("{off: 1, 2: x}", {"off": 1, "2": "x"}),
    ],
)
def test_reads_plain_values_as_people_mean_them(text: str, expected: object) -> None:
    """
    YAML 1.1 would make a boolean of ``mode: off`` and a number of ``1:30``.
    """
    assert value(f"a: {text}") == expected


def test_merges_a_mapping_by_its_anchor_under_its_own_members() -> None:
    """
    ``<<`` is what long configurations share settings with; an own member wins and is no second one.
    """
    assert value("b: &b {x: 1, y: 2}\na: {y: 3, <<: *b}") == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "1"),
        ('"x-${A}-${B:-b}"', "x-1-b"),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY}", None),
        ('"${EMPTY}"', ""),
        ("${NONE:-}", None),
        ("$${A}", "${A}"),
        ("$A $", "$A $"),
        ("['${A}']", ["1"]),
    ],
)
def test_puts_variables_in_place(text: str, expected: object) -> None:
    """
    As a shell would; unquoted, an empty one is no value at all.
    """
    assert value(f"a: {text}", A="1", EMPTY="") == expected


def test_notes_the_line_of_each_value() -> None:
    """
    For mistakes.
    """
    document = read_document("a:\n  b:\n    - c\n    - d: 1\n", source="f", environ={})

    assert {path: origin.line for path, origin in document.origins.items()} == {
        (): 0,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", 0): 3,
        ("a", "b", 1): 4,
        ("a", "b", 1, "d"): 4,
    }
