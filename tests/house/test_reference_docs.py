import re
from pathlib import Path

import pytest

from proxy import errors
from proxy.cli.main import COMMANDS
from proxy.telemetry.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "proxy"
REFERENCE = ROOT / "docs" / "reference"
README = ROOT / "README.md"
LONGEST_README = 150

_EVENT = re.compile(r"\b_?log\.(?:debug|info|warning|error|exception|critical)\(\s*\"([^\"]+)\"", re.IGNORECASE)
_READ_HEADER = re.compile(r"PREFIX \+ \"([a-z]+)\"")
_TOLD_HEADER = re.compile(r"\(\"([a-z]+)\", ")
_WHOLE_HEADER = re.compile(r"x-concertina-[a-z]+")
_CODE = re.compile(r"BadRequestError\(\d+, .*\"([a-z_]+)\"\)|refusal\(\d+, .*?\"([a-z_]+)\"[,)]")


def sources() -> str:
    """
    Return the code of the whole package.
    """
    return "\n".join(path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py")))


def rows_of(page: str) -> set[str]:
    """
    Return what the first cells of a page's tables name.
    """
    return set(re.findall(r"^\| `([^`]+)` \|", (REFERENCE / page).read_text("utf-8"), re.MULTILINE))


def test_the_metrics_page_lists_the_metrics_there_are() -> None:
    """
    Neither one that is missing nor one that is gone.
    """
    names = {
        f"{family.name}_total" if family.type == "counter" else family.name for family in Metrics().registry.collect()
    }

    assert rows_of("metrics.md") == names


def test_the_errors_page_lists_the_classes_there_are() -> None:
    """
    Codes are in lower case, classes are not.
    """
    tree = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}

    assert {name for name in rows_of("errors.md") if name[0].isupper()} == tree


def test_the_errors_page_names_each_code_of_a_refusal() -> None:
    """
    Clients branch on them.
    """
    codes = {one or other for one, other in _CODE.findall(sources())}
    text = "\n".join((REFERENCE / page).read_text("utf-8") for page in ("errors.md", "admin.md"))

    assert {"invalid_path", "upstream_timeout", "too_many_followers"} <= codes
    assert {code for code in codes if f"`{code}`" not in text} == set()


def test_the_admin_page_lists_the_paths_there_are() -> None:
    """
    Neither one that is missing nor one that is gone.
    """
    found = re.findall(r"web\.(get|post|delete)\(\"([^\"]+)\"", (PACKAGE / "admin" / "app.py").read_text("utf-8"))
    there = {f"{verb.upper()} {path}".replace("{id}", "ID") for verb, path in found} - {"GET /assets/{name}"}
    listed = {row.partition("?")[0] for row in rows_of("admin.md") if row.split(" ")[0] in {"GET", "POST", "DELETE"}}

    assert len(there) > 10
    assert listed == there


def test_the_events_page_lists_the_events_there_are() -> None:
    """
    Found by how events are written in the code.
    """
    assert rows_of("events.md") == set(_EVENT.findall(sources()))


def test_the_headers_page_lists_the_headers_there_are() -> None:
    """
    Those that are read, those that are told, and those whose whole name stands in the code.
    """
    read = _READ_HEADER.findall((PACKAGE / "pipeline" / "directives.py").read_text("utf-8"))
    told = _TOLD_HEADER.findall((PACKAGE / "pipeline" / "disclosure.py").read_text("utf-8"))
    whole = set(_WHOLE_HEADER.findall(sources()))

    listed = {name for name in rows_of("headers.md") if name.startswith("x-concertina-")}
    assert listed == {f"x-concertina-{name}" for name in (*read, *told)} | whole


def test_the_readme_is_short() -> None:
    """
    What is longer belongs in docs/.
    """
    assert len(README.read_text("utf-8").splitlines()) <= LONGEST_README


def test_the_readme_names_only_verbs_that_exist() -> None:
    """
    A command that a reader copies has to run.
    """
    named = set(re.findall(r"[`\n]concertina ([a-z]+)", README.read_text("utf-8")))

    assert "serve" in named
    assert named <= set(COMMANDS)


@pytest.mark.parametrize(
    "page",
    [README, *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_to_files(page: Path) -> None:
    """
    Relative ones; what is elsewhere is not asked.
    """
    links = re.findall(r"\]\(([^)#:\s]+)\)", page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []
