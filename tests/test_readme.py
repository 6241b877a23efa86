"""The README is read by people who type what it says."""

import re
from pathlib import Path

import pytest
import yaml
from kedro.framework.cli.project import run as kedro_run
from kedro.io import AbstractDataset

from tests.kedro_project import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [body for name, body in fences if name == language]


def test_the_python_example_runs_and_converges(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (block for block in _blocks("python") if "solve(" in block)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("CONVERGED tensor([0.8944, 0.4472]")


def test_every_command_exists() -> None:
    commands = [line for block in _blocks("") for line in block.splitlines() if line.startswith("kedro run")]
    assert commands
    options = {option for parameter in kedro_run.params for option in parameter.opts} | {"--help"}
    for command in commands:
        assert {word for word in command.split() if word.startswith("--")} <= options


def test_the_block_for_a_table_of_ones_own_loads_a_table(tmp_path: Path) -> None:
    (block,) = _blocks("yaml")
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
    rows = re.findall(r"^\| (`.*?`) \|", README, flags=re.MULTILINE)
    folders = [Path(name) for row in rows for name in re.findall(r"`(.*?)`", row)]
    assert len(folders) > 8
    assert all((PROJECT / folder).is_dir() for folder in folders)
