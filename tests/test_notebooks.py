"""The notebooks: no outputs in the files, and every cell runs."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.kedro_project import PROJECT, STEERING, KedroProject

NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
# Run in a copy of the project, because it runs Kedro there.
NEEDS_PROJECT = "quickstart"
PAGE = PROJECT / "docs" / "your_own_problem.md"
MOST_LINES = 40


def _read(notebook: Path) -> Any:
    return nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]


def _code(notebook: Path) -> list[str]:
    cells = _read(notebook).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def test_notebooks_are_found() -> None:
    names = {notebook.stem for notebook in NOTEBOOKS}
    assert names == {"quickstart", "solver_tour", "torch_module", "your_own_problem"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_outputs_are_stripped(notebook: Path) -> None:
    content = _read(notebook)
    nbformat.validate(content)
    for cell in content.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
        assert not cell.metadata


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the tools that run a kernel
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_every_cell_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    if notebook.stem == NEEDS_PROJECT:
        KedroProject.copied_to(project)
    folder = project / "notebooks"
    folder.mkdir(parents=True)
    shutil.copy(notebook, folder)
    for name in STEERING:
        monkeypatch.delenv(name, raising=False)
    source = project / "src" if (project / "src").exists() else PROJECT / "src"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    content = _read(folder / notebook.name)
    client = NotebookClient(content, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    printed = "".join(output.text for cell in content.cells for output in cell.get("outputs", []) if "text" in output)
    assert "Traceback" not in printed
    if notebook.stem == NEEDS_PROJECT:
        assert "PRIORITY: churn" in printed  # the summary of the reader's own table


def test_the_page_has_the_code_of_the_notebook_and_each_example_has_fewer_than_forty_lines() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4  # two examples, each with its check
    cells = _code(PROJECT / "notebooks" / "your_own_problem.ipynb")
    for block in blocks:
        assert block.strip() in cells
    for example in blocks[::2]:
        assert "train_module(" in example
        assert len(example.splitlines()) < MOST_LINES
