"""Worst cases as convex programs that cvxpy solves: an answer that shares no code with ours."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import cvxpy as cp
import pytest
import torch
from torch import Tensor

# The set and the price of a worst case, for weights y of n samples. Losses are divided by a scale before the program is
# solved, so a price must be, too.
Program = Callable[[Any, int, float], tuple[Any, list[Any]]]
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


class Reference(NamedTuple):
    """The value of a worst case, and the spread of the losses, which says what an error of it means."""

    value: float
    scale: float


def reference(losses: Tensor, program: Program) -> Reference:
    """Solve the program for these losses, shifted and scaled to the range from -1 to 0."""
    highest, spread = losses.max().item(), (losses.max() - losses.min()).item()
    scale = spread if spread > 0 else 1.0
    n = len(losses)
    y = cp.Variable(n)
    price, conditions = program(y, n, scale)
    scaled = ((losses - highest) / scale).numpy()
    problem = cp.Problem(cp.Maximize(scaled @ y - price), [y >= 0, cp.sum(y) == 1, *conditions])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it cannot reach 1e-12, which is more than is asked for here
        problem.solve(solver=cp.CLARABEL, **TIGHT)
    return Reference(problem.value * scale + highest, scale)


def hard_losses() -> Iterator[Any]:
    """Losses of every shape that has broken a maximiser: ties, one sample, no spread, extreme sizes."""
    generator = torch.Generator().manual_seed(0)

    def random(count: int) -> Tensor:
        return torch.rand(count, generator=generator, dtype=torch.float64)

    yield pytest.param(3 * random(30), id="random")
    yield pytest.param((3 * random(30)).floor(), id="ties")
    yield pytest.param(torch.tensor([0.7], dtype=torch.float64), id="one sample")
    yield pytest.param(torch.full((7,), 0.3, dtype=torch.float64), id="constant")
    yield pytest.param(1e-6 * random(20), id="tiny")
    yield pytest.param(1e6 * random(20), id="large")
    yield pytest.param(1e6 + random(20), id="far from zero")
    yield pytest.param(torch.cat([1e-3 * random(20), torch.full((1,), 1e4)]), id="outlier")


HARD_LOSSES = list(hard_losses())
