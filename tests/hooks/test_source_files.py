"""The files of a data set are those of the project, wherever the command is started."""

from pathlib import Path

import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from tests.kedro_project import KedroProject

SOURCE = """
mine:
  type: idbpd.datasets.TabularDataset
  filepath: [data/01_raw/one.csv, data/01_raw/two.csv]
  tasks: {churn: churned, spend: spend}
"""


def _rows(first: int) -> str:
    lines = [f"{at % 7},{at % 2},{at / 3:.2f}" for at in range(first, first + 20)]
    return "\n".join(["x,churned,spend", *lines])


def test_a_list_of_files_is_relative_to_the_project(
    project: KedroProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project.data / "01_raw"
    folder.mkdir(parents=True)
    (folder / "one.csv").write_text(_rows(0))
    (folder / "two.csv").write_text(_rows(20))
    project.configure("sources.yml", SOURCE)
    monkeypatch.chdir(tmp_path)
    bootstrap_project(project.path)
    session = KedroSession.create(project.path, runtime_params={"dataset": "mine"})
    table = session.load_context().catalog.load("source")
    assert len(table) == 40
    assert table.origin.of(39) == f"{folder / 'two.csv'}, line 21"


def test_a_bad_value_is_told_with_its_file(project: KedroProject) -> None:
    folder = project.data / "01_raw"
    folder.mkdir(parents=True)
    (folder / "one.csv").write_text(_rows(0))
    (folder / "two.csv").write_text(_rows(20).replace("6.67", "inf"))
    project.configure("sources.yml", SOURCE)
    output = project.kedro("run", params="dataset=mine", exit_code=1)
    (line,) = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert line.endswith("two.csv, line 2: task 'spend': column 'spend' is infinite; numbers must be finite")
