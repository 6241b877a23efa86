"""The documentation as a site: it builds without a warning, asks nothing of a network, and works from disk."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.browser.checks import FAULTS
from tests.browser.driver import ABSENT, BROWSER, DRIVER, Browser, started_browser
from tests.kedro_project import PROJECT

pytestmark = pytest.mark.xdist_group("site")  # one worker builds it
in_browser = pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=ABSENT)

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
# Type a word into the search, and wait until it has found something.
SEARCH = """
const [word, done] = arguments;
document.querySelector("label[for=__search]").click();
const box = document.querySelector(".md-search__input");
box.focus();
box.value = word;
box.dispatchEvent(new Event("input", { bubbles: true }));
box.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
const look = setInterval(() => {
  const found = [...document.querySelectorAll(".md-search-result__link")].map((one) => one.href);
  if (found.length) { clearInterval(look); done(found); }
}, 50);
"""


class _Page(HTMLParser):
    """What a page names: files that it loads, links, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.append(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a warning ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    silent = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=PROJECT, env=silent, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_of_docs_is_on_it(site: Path) -> None:
    written = {path.relative_to(PROJECT / "docs").with_suffix(".html") for path in (PROJECT / "docs").rglob("*.md")}
    assert {path for path in written if not (site / path).exists()} == set()
    for name in ("index", "CONTRIBUTING", "CHANGELOG", "reference/parameters", "reference/solver"):
        assert (site / f"{name}.html").exists()


def test_no_page_loads_anything_from_a_network(site: Path, pages: dict[Path, _Page]) -> None:
    loaded = {address for page in pages.values() for address in page.loaded if not address.startswith("data:")}
    assert len(loaded) > 10
    assert [address for address in loaded if urlsplit(address).scheme or address.startswith("//")] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert not [style for style in styles if "url(http" in style or "@import" in style]
    # The theme would load a library for diagrams from a network if a page had one.
    assert not [path for path in pages if 'class="mermaid"' in path.read_text(encoding="utf-8")]


def test_every_link_leads_to_a_file_and_an_anchor(site: Path, pages: dict[Path, _Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            has_anchor = not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
            if not target.is_file() or not has_anchor:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_the_reference_has_every_parameter_and_the_names_of_the_api(site: Path) -> None:
    parameters = (site / "reference" / "parameters.html").read_text(encoding="utf-8")
    for path in (PROJECT / "conf" / "base").glob("parameters*.yml"):
        for block, content in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for name in content if isinstance(content, dict) else []:
                assert f"<code>{block}.{name}</code>" in parameters
    solver = (site / "reference" / "solver.html").read_text(encoding="utf-8")
    for text in ('id="idbpd.optim.solve.solve"', 'id="idbpd.optim.Problem"', "relative_tolerance", "Algorithm 1"):
        assert text in solver


def test_equations_are_drawn_without_a_script(site: Path) -> None:
    page = (site / "method.html").read_text(encoding="utf-8")
    assert page.count("<math") > 20
    assert not [text for text in ("```math", "$`", "begin{") if text in page]
    assert re.findall(r"<m[ion]\b[^>]*>[^<]*\\", page) == []  # a command of LaTeX that was not understood


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as window:
        yield window


@in_browser
def test_search_works_from_disk(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html")
    assert browser.said() == []
    found = browser.wait_for(SEARCH, "checkpoint")
    assert any("resuming.html" in address for address in found)
    assert browser.said() == []


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)], ids=["laptop", "phone in the dark"])
@pytest.mark.parametrize("page", ["index", "method", "reference/solver"])
def test_axe_finds_no_serious_fault_and_nothing_overflows(
    site: Path, browser: Browser, page: str, width: int, dark: bool
) -> None:
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed: pip install --editable '.[dev]'")
    browser.open(site / f"{page}.html", width=width, dark=dark)
    assert browser.said() == []
    assert browser.run("return document.documentElement.scrollWidth") == width
    browser.run(Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    assert browser.wait_for(FAULTS, "body") == []
