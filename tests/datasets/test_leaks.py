"""Columns that give a target away are told; columns that fit by chance are not."""

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from idbpd.datasets.leaks import warn_of_leaks
from idbpd.datasets.table import Column, Target

ROWS = 200
RANDOM = np.random.default_rng(0)
YES = RANDOM.integers(0, 2, ROWS)
SPEND = RANDOM.normal(size=ROWS)
CLASS = RANDOM.integers(0, 4, ROWS)


def _warnings(column: Column, target: Target, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    warn_of_leaks((column,), (target,))
    return caplog.messages


def _column(values: NDArray[Any], role: Literal["number", "category"] = "number") -> Column:
    if role == "category":
        return Column("x", role, values.astype(np.int32), tuple(map(str, range(int(values.max()) + 1))))
    return Column("x", role, values.astype(np.float64))


def _target(kind: Any, values: NDArray[Any]) -> Target:
    matrix = np.eye(4)[values] if kind == "classes" else values[:, None]
    return Target("t", kind, tuple(map(str, range(matrix.shape[1]))), matrix.astype(np.float32))


def _gaps(values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(where, np.nan, values.astype(np.float64))


@pytest.mark.parametrize(
    ("column", "target", "how"),
    [
        (_column(YES, "category"), _target("binary", YES), "determines"),
        (_column(YES), _target("binary", YES), "divides exactly at one number"),
        (_column(1 - YES, "category"), _target("labels", YES), "determines"),
        (_column(CLASS, "category"), _target("classes", CLASS), "determines"),
        (_column(CLASS * 10), _target("classes", CLASS), "determines"),
        (_column(YES * 5 + RANDOM.integers(0, 5, ROWS), "category"), _target("binary", YES), "determines"),
        (_column(YES * 100 + RANDOM.random(ROWS)), _target("binary", YES), "divides exactly at one number"),
        (_column(_gaps(RANDOM.random(ROWS), YES > 0)), _target("binary", YES), "tells by its missing values"),
        (_column(-3 * SPEND + 7), _target("number", SPEND), "is the same as, or a multiple of,"),
        (_column(_gaps(SPEND, YES > 0)), _target("number", _gaps(SPEND, CLASS > 2)), "is the same as, or a multiple"),
        (_column(CLASS, "category"), _target("number", CLASS**2), "determines"),
    ],
)
def test_a_column_that_knows_the_target_is_told(
    column: Column, target: Target, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    (message,) = _warnings(column, target, caplog)
    assert message.startswith(f"column 'x' {how}")
    assert message.endswith("if it is not known when the model is asked, leave it out with ignore: [x]")


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (_column(RANDOM.permutation(ROWS), "category"), _target("binary", YES)),  # another value in every row
        (_column(RANDOM.random(ROWS)), _target("binary", YES)),
        (_column(SPEND + 0.1 * RANDOM.random(ROWS)), _target("number", SPEND)),
        (_column(np.zeros(ROWS)), _target("number", SPEND)),
        (_column(RANDOM.integers(0, 60, ROWS), "category"), _target("binary", (np.arange(ROWS) == 3).astype(int))),
        (_column(np.arange(ROWS)), _target("binary", (np.arange(ROWS) < 1).astype(int))),
        (_column(np.where(RANDOM.random(ROWS) < 0.02, 1 - YES, YES), "category"), _target("binary", YES)),
        (_column(YES, "category"), _target("classes", CLASS)),
    ],
)
def test_a_column_that_does_not_is_not(column: Column, target: Target, caplog: pytest.LogCaptureFixture) -> None:
    assert _warnings(column, target, caplog) == []


def test_many_rows_of_one_value_are_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    yes = RANDOM.integers(0, 2, 100_000)
    assert len(_warnings(_column(yes, "category"), _target("binary", yes), caplog)) == 1
