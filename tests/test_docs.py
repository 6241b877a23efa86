"""The Markdown pages: lines that fit a screen, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

from idbpd.pipeline_registry import register_pipelines
from tests.kedro_project import PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])
# Generated from tracked runs, with tables as wide as their numbers: a row has to be one line.
GENERATED = PROJECT / "docs" / "results.md"
WIDTH = 119


def _name(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_lines_are_below_120_characters(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    wide = [(number, line) for number, line in enumerate(lines, start=1) if len(line) > WIDTH]
    assert not [line for line in wide if page != GENERATED or not line[1].startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if anchor:
            assert anchor in _anchors(linked), target


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes from the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"} <= {_name(page) for page in PAGES}


def test_the_architecture_page_and_its_figure_name_all_pipelines_and_their_outputs() -> None:
    pipelines = register_pipelines()
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert set(pipelines) - {"__default__"} <= named
    outputs = pipelines["__default__"].all_outputs()
    assert outputs <= named
    figure = (PROJECT / "docs" / "figures" / "data_flow.svg").read_text(encoding="utf-8")
    entries = set(re.findall(r"<tspan[^>]*>(\w+)</tspan>", figure))
    assert outputs | {"source"} <= entries
