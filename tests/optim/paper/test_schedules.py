"""The schedules of the experiments and of Theorem 2, and what they refuse."""

import math

import pytest

from idbpd.optim import IDBPD
from idbpd.optim.paper.schedules import (
    LogarithmicSteps,
    TheoremConstraintSteps,
    barrier,
    constant,
    theorem_barrier,
    theorem_step_size,
)


def test_values() -> None:
    assert constant(0.1)(7) == 0.1
    assert barrier(0.5)(3) == 0.5 / 5**1.001
    assert theorem_barrier(1000, omega=0.1)(8) == pytest.approx(10 / 10**1.1)
    assert theorem_step_size(1000)(0) == pytest.approx(0.1)
    assert theorem_step_size(1000, largest=0.05)(0) == 0.05
    assert [LogarithmicSteps(2)(k) for k in (0, 1, 6, 100)] == [2, 4, 6, 10]
    assert TheoremConstraintSteps(1000)(0.5) == math.ceil(math.log(1000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IDBPD.paper(gamma=0.0), "gamma must be positive, got 0.0"),
        (lambda: IDBPD.paper(alpha=-1.0), "alpha must be positive, got -1.0"),
        (lambda: LogarithmicSteps(0), "factor must be positive, got 0"),
        (lambda: TheoremConstraintSteps(10, theta=1.0), "theta must lie strictly between 0 and 1, got 1.0"),
        (lambda: theorem_barrier(0), "horizon must be positive, got 0"),
        (lambda: IDBPD(memory=0), "memory must be at least 1, got 0"),
        (lambda: IDBPD(metric="newton"), "metric must be 'quasi-newton' or 'identity', got 'newton'"),  # type: ignore[arg-type]
    ],
)
def test_refusals(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()
