"""
Tests that the documentation names are tests that there are, that run, and that can fail.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.shared import shared_file

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/threat-model.md", "docs/user-cases.md", "docs/other-proxies.md")
_NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
_MENTIONED = re.compile(r"`tests/[^`]*\.py[^`]*`")
_CASE = re.compile(r"^\| (U\d+) \| [^|]+ \| ([^|]{10,}) \|$", re.MULTILINE)
_NEVER_RUN = {"skip", "xfail"}
_Test = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page: str) -> None:
    """
    As a function of its file that pytest collects, with something in it that can fail.
    """
    text = (ROOT / page).read_text("utf-8")
    named = _NAMED.findall(text)
    missing = [f"{path}::{name}" for path, name in named if not _holds(path, name)]

    assert named
    assert missing == []
    assert len(named) == len(_MENTIONED.findall(text)) - text.count("`tests/house/test_named_tests.py`")


@pytest.mark.parametrize(
    "source",
    [
        "# def test_it(): ...",
        'TEXT = """\ndef test_it():\n    assert False\n"""',
        "def test_it():\n    pass",
        "def test_it():\n    x = 1",
        "@pytest.mark.skip(reason='later')\ndef test_it():\n    assert False",
        "@pytest.mark.xfail\ndef test_it():\n    assert False",
        "def outer():\n    def test_it():\n        assert False",
        "class Fake:\n    def test_it(self):\n        assert False",
    ],
)
def test_what_only_looks_like_a_test_is_none(source: str) -> None:
    """
    A comment, a text, a body without a check, one that never runs, or a place where pytest does not look.
    """
    assert not _is_told(source, "test_it")


@pytest.mark.parametrize(
    "source",
    [
        "def test_it():\n    assert one()",
        "async def test_it():\n    with pytest.raises(ValueError):\n        one()",
        "class TestIt:\n    def test_it(self):\n        check(1)\ndef check(x):\n    assert x",
    ],
)
def test_what_is_a_test_is_one(source: str) -> None:
    """
    Checks may stand in a helper beside it.
    """
    assert _is_told(source, "test_it")


def test_every_threat_has_a_test() -> None:
    """
    A line without one is a wish.
    """
    lines = [line for line in (ROOT / "docs/threat-model.md").read_text("utf-8").splitlines() if line.startswith("|")]
    threats = [line for line in lines if not line.startswith(("| threat |", "|---"))]

    assert len(threats) > 20
    assert [line for line in threats if not _NAMED.search(line)] == []


def test_every_user_case_says_where_it_is_covered() -> None:
    """
    By a test, or by a sentence; each case once.
    """
    text = (ROOT / "docs/user-cases.md").read_text("utf-8")
    cases = _CASE.findall(text)

    assert len(cases) == len({case for case, _ in cases}) == text.count("\n| U")


def test_no_user_case_was_left_out() -> None:
    """
    Held against the study itself, where it is at hand.
    """
    collected = shared_file("data/user_cases.jsonl").read_text("utf-8").splitlines()
    text = (ROOT / "docs/user-cases.md").read_text("utf-8")

    assert [case for case, _ in _CASE.findall(text)] == [json.loads(line)["id"] for line in collected]


def test_every_fault_of_another_proxy_has_a_test() -> None:
    """
    Each line of the table names one, and each test that was written for them is named.
    """
    lines = (ROOT / "docs/other-proxies.md").read_text("utf-8").splitlines()
    faults = [line for line in lines if line.startswith("| ") and not line.startswith("| seen in others |")]
    named = {name for line in faults for _, name in _NAMED.findall(line)}
    written = {test.name for test in _tests_of((ROOT / "tests/scenario/test_findings.py").read_text("utf-8"))}

    assert len(faults) > 40
    assert [line for line in faults if not _NAMED.search(line)] == []
    assert written - named == set()


def _holds(path: str, name: str) -> bool:
    file = ROOT / path
    return file.name.startswith("test_") and file.is_file() and _is_told(_source(path), name)


@cache
def _source(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


@cache
def _is_told(source: str, name: str) -> bool:
    """
    Tell whether *source* has a test of this *name* that runs and checks something.
    """
    helpers = frozenset(_checking(source)) | frozenset(_imported(ast.parse(source)))
    found = [test for test in _tests_of(source) if test.name == name]
    return any(_runs(test) and _checks(test, helpers) for test in found)


def _checking(source: str) -> Iterator[str]:
    """
    Yield the functions of *source* that check something themselves.
    """
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _Test))
    return (function.name for function in functions if _checks(function, frozenset()))


def _imported(tree: ast.Module) -> Iterator[str]:
    """
    Yield what a test takes from other test code that checks something.
    """
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            file = (node.module or "").replace(".", "/") + ".py"
            checking = set(_checking(_source(file))) if (ROOT / file).is_file() else set()
            yield from (name.name for name in node.names if name.name in checking)


def _tests_of(source: str) -> list[_Test]:
    """
    Return the functions that pytest collects.
    """
    top = ast.parse(source).body
    inside = [
        node for kind in top if isinstance(kind, ast.ClassDef) and kind.name.startswith("Test") for node in kind.body
    ]
    return [node for node in (*top, *inside) if isinstance(node, _Test) and node.name.startswith("test_")]


def _runs(test: _Test) -> bool:
    marks = {node.attr for mark in test.decorator_list for node in ast.walk(mark) if isinstance(node, ast.Attribute)}
    return not marks & _NEVER_RUN


def _checks(function: _Test, helpers: frozenset[str]) -> bool:
    """
    Tell whether a function asserts, wants an exception, or calls a helper that does.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "raises":
            return True
        if isinstance(node, ast.Name) and node.id in helpers:
            return True
    return False
