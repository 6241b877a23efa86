"""The README and the pages of docs are read by people who type what they say."""

import re
from pathlib import Path

import pytest
import yaml
from kedro.framework.cli.project import run as kedro_run
from kedro.io import AbstractDataset

from tests.kedro_project import PROJECT

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
LINES_OF_A_SCREEN = 70


def _blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [body for name, body in fences if name == language]


def test_the_readme_is_little_more_than_a_screen() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_OF_A_SCREEN
    assert all(command in text for command in ("make run", "make test", "make docs"))


def test_the_python_example_runs_and_converges(capsys: pytest.CaptureFixture[str]) -> None:
    page = PROJECT / "docs" / "solver.md"
    code = next(block for block in _blocks(page, "python") if "print(solution" in block)
    exec(compile(code, page.name, "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("CONVERGED tensor([0.8944, 0.4472]")


def test_every_command_exists() -> None:
    blocks = [block for page in PAGES for language in ("", "sh") for block in _blocks(page, language)]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("kedro run")]
    assert len(commands) > 40
    options = {option for parameter in kedro_run.params for option in parameter.opts} | {"--help"}
    for command in commands:
        assert {word for word in command.split() if word.startswith("--")} <= options


def test_the_block_for_a_table_of_ones_own_loads_a_table(tmp_path: Path) -> None:
    (block,) = _blocks(PROJECT / "README.md", "yaml")
    (entry,) = yaml.safe_load(block).values()
    path = tmp_path / "customers.csv"
    rows = [
        f"{row * 7 % 41},{'yes' if row % 3 else 'no'},{10.5 + row % 17},{'abc'[row % 3]},{row % 2},{row // 2 % 2}"
        for row in range(60)
    ]
    path.write_text("\n".join(["age,churned,next_month,next_plan,sports,music", *rows]))
    table = AbstractDataset.from_config("customers", {**entry, "filepath": str(path)}).load()
    assert table.feature_names == ("age",)
    assert {target.task: target.kind for target in table.targets} == {
        "churn": "binary",
        "spend": "number",
        "plan": "classes",
        "topics": "labels",
    }
    assert table.targets[1].options == {"slack": 0.2}


def test_the_map_shows_folders_that_exist() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| folder |") : page.index("## The layers")]
    folders = [Path(name) for row in re.findall(r"^\| (`.*?`) \|", table, flags=re.MULTILINE) for name in _names(row)]
    assert len(folders) > 7
    assert all((PROJECT / folder).is_dir() for folder in folders)


def _names(text: str) -> list[str]:
    return re.findall(r"`(.*?)`", text)
