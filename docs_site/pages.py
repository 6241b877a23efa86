"""What `make docs` adds to the pages in docs: MkDocs calls these functions while it builds the site.

The pages themselves stay plain Markdown that GitHub shows too. So links out of the folder are put right here, and
equations, which GitHub draws by itself, become MathML, which browsers draw without a script.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from idbpd.cli.show_command import listed_parameters

PROJECT = Path(__file__).resolve().parents[1]
# Pages at the top of the project, and their names on the site.
ABOVE = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
# The names that other programs use, by page.
API = {
    "reference/solver.md": (
        "The solver",
        "`idbpd.optim`, in pure torch: state a problem, solve it, read the certificate. [The solver](../solver.md) "
        "explains what happens inside.",
        [
            *("idbpd.optim.solve.solve", "idbpd.optim.Problem", "idbpd.optim.Constraint", "idbpd.optim.IDBPD"),
            *("idbpd.optim.Solution", "idbpd.optim.KKT", "idbpd.optim.Status", "idbpd.optim.Known"),
            *("idbpd.optim.History", "idbpd.optim.Record", "idbpd.optim.Progress"),
        ],
    ),
    "reference/sets.md": (
        "Sets",
        "`idbpd.optim.sets`: what y and w are taken from.",
        [
            f"idbpd.optim.sets.{name}"
            for name in ("Simplex", "Box", "Ball", "Space", "ChiSquareBall", "KLBall", "Polyhedron", "Product")
        ],
    ),
    "reference/project.md": (
        "Data sets, methods and models",
        "What blocks of YAML and programs of your own call.",
        [
            *("idbpd.datasets.TabularDataset", "idbpd.datasets.ArffDataset"),
            *("idbpd.baselines.make_method", "idbpd.baselines.grid"),
            "idbpd.tracking.verify_model",
        ],
    ),
}
# Of these classes, only what people call; the rest is for the loop that runs a method, or for Kedro.
MEMBERS = {"IDBPD": ["paper"], "TabularDataset": [], "ArffDataset": []}
PARAMETERS = "reference/parameters.md"
GENERATED = {PARAMETERS, *API, *ABOVE.values()}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FILE_NAME = re.compile(r"(docs/)?\w+\.md")
_BLOCK = re.compile(r"^```math\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"\$`(.+?)`\$")
_FENCED = re.compile(r"(^```.*?^```$)", flags=re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave pages out of the menu that are not there yet."""
    config.nav = _present(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages at the top of the project, and the reference."""
    for source, page in ABOVE.items():
        files.append(File.generated(config, page, content=(PROJECT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, PARAMETERS, content=parameters_page()))
    for page, (title, words, names) in API.items():
        entries = "\n\n".join(_directive(name) for name in names)
        files.append(File.generated(config, page, content=f"# {title}\n\n{words}\n\n{entries}\n"))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Put links right, and turn equations into MathML; what stands in other fenced blocks stays."""
    parts = _FENCED.split(_BLOCK.sub(_equation, markdown))
    return "".join(part if part.startswith("```") else _put_right(part, page.file.src_uri) for part in parts)


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Give the search a name for screen readers, which the theme forgot."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def parameters_page() -> str:
    """All parameters with their values and meanings, from the files in conf/base."""
    lines = [
        "# Parameters",
        "",
        "`kedro run --params name=value` sets one; several are separated by commas. `conf/local/parameters.yml` sets "
        "them for all runs here. The values below are those of `conf/base`; `kedro show parameters` prints this list, "
        "and `kedro show` also has data sets, methods, worst cases, losses and measures.",
    ]
    for entry in listed_parameters(PROJECT / "conf"):
        block, _, _ = entry.name.partition(".")
        if entry.value is None and block == entry.name:
            meaning = ["", f"{_capitalised(entry.meaning)}."] if entry.meaning else []
            lines += ["", f"## {block}", *meaning, "", *_head()]
        elif block == entry.name and lines[-1].startswith("`kedro run"):
            lines += ["", "## One line each", "", *_head()]
        if not (entry.value is None and block == entry.name):
            value = "(block)" if entry.value is None else f"`{_cell(entry.value)}`"
            lines.append(f"| `{entry.name}` | {value} | {_cell(entry.meaning)} |")
    return "\n".join(lines) + "\n"


def _directive(name: str) -> str:
    members = MEMBERS.get(name.rpartition(".")[2])
    return f"::: {name}" if members is None else f"::: {name}\n    options:\n      members: {members}"


def _head() -> list[str]:
    return ["| name | value | meaning |", "|---|---|---|"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if text else ""


def _capitalised(text: str) -> str:
    return (text[:1].upper() + text[1:]).rstrip(".")


def _present(nav: Any, folder: Path) -> Any:
    """A part of the menu without missing pages."""
    if isinstance(nav, list):
        return [part for part in (_present(one, folder) for one in nav) if part]
    if isinstance(nav, dict):
        found = {name: _present(part, folder) for name, part in nav.items()}
        return {name: part for name, part in found.items() if part}
    return nav if nav in GENERATED or (folder / nav).exists() else None


def _equation(found: re.Match[str]) -> str:
    written = re.sub(r"\\(max|min|sum)_", r"\\\1\\limits_", found[1])  # below, not beside
    return f'<div class="equation">{convert(written, display="block")}</div>'


def _put_right(text: str, page: str) -> str:
    # A line that begins with <math> would be a paragraph of its own.
    text = _INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", text)
    return _LINK.sub(lambda found: _linked(found[1], found[2], found[3], page), text)


def _linked(sign: str, words: str, target: str, page: str) -> str:
    """A link between pages as the site has them; a link to another file of the project is only its words."""
    if "://" in target or target.startswith("#"):
        return f"{sign}[{words}]({target})"
    file, mark, anchor = target.partition("#")
    # Where the page is in the project, and where the link leads there.
    folder = "" if page in ABOVE.values() else posixpath.join("docs", posixpath.dirname(page))
    linked = posixpath.normpath(posixpath.join(folder, file))
    if linked in ABOVE:
        linked = f"docs/{ABOVE[linked]}"
    if not linked.startswith("docs/"):
        return words
    if _FILE_NAME.fullmatch(words):
        words = _title(linked)
    back = posixpath.relpath(linked.removeprefix("docs/"), posixpath.dirname(page) or ".")
    return f"{sign}[{words}]({back}{mark}{anchor})"


def _title(page: str) -> str:
    """The first heading of a page of the project: it reads better than the name of a file."""
    source = next((name for name, shown in ABOVE.items() if page == f"docs/{shown}"), page)
    path = PROJECT / source
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if path.exists() else page
