"""Columns that give a target away are told; columns that fit by chance are not."""

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from idbpd.datasets.table import Column, Target
from idbpd.datasets.tabular.leaks import warn_of_leaks

ROWS = 200
RANDOM = np.random.default_rng(0)
YES = RANDOM.integers(0, 2, ROWS)
SPEND = RANDOM.normal(size=ROWS)
CLASS = RANDOM.integers(0, 4, ROWS)


def _warnings(column: Column, target: Target, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    warn_of_leaks((column,), (target,), np.arange(len(target.values)))
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
        (_column(YES, "category"), _target("binary", YES), "each of its values has one target"),
        (_column(YES), _target("binary", YES), "one number divides the two values"),
        (_column(1 - YES, "category"), _target("labels", YES), "each of its values has one target"),
        (_column(CLASS, "category"), _target("classes", CLASS), "each of its values has one target"),
        (_column(CLASS * 10), _target("classes", CLASS), "each of its values has one target"),
        (
            _column(YES * 5 + RANDOM.integers(0, 5, ROWS), "category"),
            _target("binary", YES),
            "each of its values has one target",
        ),
        (_column(YES * 100 + RANDOM.random(ROWS)), _target("binary", YES), "one number divides the two values"),
        (
            _column(_gaps(RANDOM.random(ROWS), YES > 0)),
            _target("binary", YES),
            "it is missing for one of the two values only",
        ),
        (_column(-3 * SPEND + 7), _target("number", SPEND), "it is the target, perhaps in another unit"),
        (_column(_gaps(SPEND, YES > 0)), _target("number", _gaps(SPEND, CLASS > 2)), "it is the target"),
        (_column(CLASS, "category"), _target("number", CLASS**2), "each of its values has one target"),
    ],
)
def test_a_column_that_knows_the_target_is_told(
    column: Column, target: Target, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    (message,) = _warnings(column, target, caplog)
    what = "label '0' of task 't'" if target.kind == "labels" else "task 't'"
    assert message.startswith(f"column 'x' gives {what} away: {how}")
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


def test_copies_of_rows_give_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    column, target = _column(np.tile(RANDOM.random(ROWS), 2)), _target("binary", np.tile(YES, 2))
    warn_of_leaks((column,), (target,), np.arange(ROWS))
    assert caplog.messages == []
    assert len(_warnings(column, target, caplog)) == 1


def test_many_rows_of_one_value_are_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    yes = RANDOM.integers(0, 2, 100_000)
    assert len(_warnings(_column(yes, "category"), _target("binary", yes), caplog)) == 1
