"""The digest of the code: no file may escape it, or results of other code would be taken for one's own."""

from pathlib import Path

import pytest

from idbpd.experiment.records.provenance import PACKAGE, SOLVER_CODE, code_sha256


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("optim/solve.py", "optim/inner/exact.py", "optim/inner/deeper/still.py", "network.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    return tmp_path


@pytest.mark.parametrize("changed", ["optim/solve.py", "optim/inner/exact.py", "optim/inner/deeper/still.py"])
def test_a_change_in_any_folder_changes_the_digest(package: Path, changed: str) -> None:
    before = code_sha256(package, ("optim",))
    (package / changed).write_text("x = 2\n")
    assert code_sha256(package, ("optim",)) != before


def test_a_file_that_moves_changes_the_digest(package: Path) -> None:
    before = code_sha256(package)
    (package / "optim/inner/exact.py").rename(package / "optim/exact.py")
    assert code_sha256(package) != before


def test_other_parts_do_not_count(package: Path) -> None:
    before = code_sha256(package, ("optim",))
    (package / "network.py").write_text("x = 2\n")
    assert code_sha256(package, ("optim",)) == before


@pytest.mark.parametrize("part", ["gone.py", "gone"])
def test_a_listed_part_that_is_not_there_is_an_error(package: Path, part: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{part} is listed"):
        code_sha256(package, ("optim", part))


def test_all_that_is_listed_as_solver_code_is_there() -> None:
    for part in SOLVER_CODE:
        assert code_sha256(PACKAGE, (part,))
