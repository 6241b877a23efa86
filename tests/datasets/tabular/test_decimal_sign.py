"""One column tells which sign divides off the decimals of another."""

from pathlib import Path

import numpy as np
import pytest

from idbpd.datasets import TabularDataset
from idbpd.datasets.table import TaskTable

ROWS = 40
SALARIES = [f"{20 + row},{(row * 37) % 1000:03d}" for row in range(ROWS)]


def _table(folder: Path, others: list[str]) -> TaskTable:
    rows = [f'"{salary}","{other}",{row % 2}' for row, (salary, other) in enumerate(zip(SALARIES, others, strict=True))]
    file = folder / "pay.csv"
    file.write_text("\n".join(["salary,other,left", *rows]), encoding="utf-8")
    return TabularDataset(filepath=str(file), tasks={"left": "left"}).load()


def _salary(table: TaskTable) -> np.ndarray:
    assert isinstance(table.features, tuple)
    return next(column.values for column in table.features if column.name == "salary")


def test_a_point_elsewhere_makes_the_comma_one_of_thousands(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    table = _table(tmp_path, [f"{row / 7:.2f}" for row in range(ROWS)])
    np.testing.assert_array_equal(_salary(table), [float(text.replace(",", "")) for text in SALARIES])
    assert "'20,000' is read as 20000, as '.' divides off decimals in other columns" in caplog.text


def test_a_decimal_comma_elsewhere_makes_it_one_too(tmp_path: Path) -> None:
    table = _table(tmp_path, [f"{row / 7:.2f}".replace(".", ",") for row in range(ROWS)])
    np.testing.assert_array_equal(_salary(table), [float(text.replace(",", ".")) for text in SALARIES])


def test_where_nothing_tells_the_column_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = _table(tmp_path, [str(row % 7) for row in range(ROWS)])
    assert table.feature_names == ("other",)
    assert "column 'salary' is left out: its comma may be a decimal comma or separate thousands" in caplog.text
