"""What docs/tables.md says of the two published tables: its blocks load them, and what a run prints first is true."""

import re
from typing import Any

import numpy as np
import pytest
import yaml
from kedro.io import AbstractDataset

from idbpd.datasets.table import TaskTable
from idbpd.experiment.features import encoded, feature_names, fit_encoding
from tests.kedro_project import PROJECT
from tests.real_data import ROOT, needs_tables

TEXT = (PROJECT / "docs" / "tables.md").read_text(encoding="utf-8")
BLOCKS: dict[str, Any] = {}
for body in re.findall(r"^```yaml\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL):
    BLOCKS |= yaml.safe_load(body)


def _load(name: str) -> TaskTable:
    block = yaml.safe_dump(BLOCKS[name], sort_keys=False).replace("${data_root:}", str(ROOT))
    table = AbstractDataset.from_config(name, yaml.safe_load(block)).load()
    assert isinstance(table, TaskTable)
    return table


def test_the_page_has_a_block_and_a_command_for_both() -> None:
    assert list(BLOCKS) == ["adult", "pupils"]
    for name in BLOCKS:
        assert f"kedro run --params dataset={name}" in TEXT


@needs_tables
def test_what_the_runs_say_first_is_on_the_page(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for name in BLOCKS:
        _load(name)
    said = [message for message in caplog.messages if message.startswith(("task ", "features: "))]
    assert len(said) == 7  # five tasks, and the features of both tables
    page = " ".join(TEXT.split())  # long lines are wrapped there
    for message in said:
        assert message in page


@needs_tables
def test_adult_has_the_published_counts_and_an_encoding_with_a_place_for_what_is_missing() -> None:
    table = _load("adult")
    assert len(table) == 32_561 + 16_281
    income, never_married, hours = table.targets
    assert (income.kind, never_married.kind, hours.kind) == ("binary", "binary", "number")
    assert int(income.values.sum()) == 11_687
    assert int(never_married.values.sum()) == 16_117
    assert (hours.values.min(), hours.values.max()) == (1, 99)
    rows = np.arange(32_561)
    encoding = fit_encoding(table, rows)
    names = feature_names(encoding)
    assert "age" in names
    assert "sex=Male" in names
    assert not any("marital" in name or "hours" in name or "classification" in name for name in names)
    # Holand-Netherlands is one person: a value as rare as this shares a place.
    assert "native-country=Holand-Netherlands" not in names
    assert "native-country=rare" in names
    matrix = encoded(table, np.arange(32_561, 48_842), encoding)
    assert matrix.shape == (16_281, len(names))
    assert np.isfinite(matrix).all()


@needs_tables
def test_pupils_are_395_with_yes_or_no_names_and_numbers() -> None:
    table = _load("pupils")
    assert len(table) == 395
    passed, grade = table.targets
    assert (passed.kind, passed.outputs, passed.other, int(passed.values.sum())) == ("binary", ("Pass",), "Fail", 265)
    assert (grade.kind, grade.values.max()) == ("number", 20)
    encoding = fit_encoding(table, np.arange(300))
    names = feature_names(encoding)
    assert {"age", "school=GP", "internet=yes"} <= set(names)
    assert "G3" not in names
    assert encoded(table, np.arange(300, 395), encoding).shape == (95, len(names))
