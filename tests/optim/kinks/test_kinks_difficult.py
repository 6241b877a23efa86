"""Kinks where the inner maximum, the precision or the constraints do not help."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Problem, Solution, Status, solve
from idbpd.optim.quasi_newton.phases import IDBPDState
from idbpd.optim.sets import Box, Simplex
from tests.optim.bank import KINKS


def point_of(solution: Solution) -> Tensor:
    assert isinstance(solution.x, Tensor)
    return solution.x


def _wells(x: Tensor, y: Tensor) -> Tensor:
    """Convex in y: the highest corner is seldom found from another one."""
    return (y - x[0]).square().mean() + 0.3 * y.mean() * x[1] + 0.1 * x[1] ** 2


@pytest.mark.parametrize("start", [(0.5, 1.0), (-1.0, 2.0), (2.0, -1.0), (0.1, -3.0)])
def test_a_worst_case_that_a_refused_trial_shows_counts_at_the_point_too(start: tuple[float, float]) -> None:
    box = Box(-torch.ones(60).double(), torch.ones(60).double())

    def truth(x: Tensor) -> float:
        return max(float(_wells(x, side * torch.ones(60).double())) for side in (1.0, -1.0))

    objective = solve(Problem(_wells, over=box), torch.tensor(start).double(), max_steps=300)
    assert objective.f == pytest.approx(truth(point_of(objective)), abs=1e-6)
    problem = Problem(lambda x: x @ x - 3 * x[0], constraints=[Constraint(lambda x, w: _wells(x, w) - 1.5, box)])
    constrained = solve(problem, torch.tensor(start).double(), max_steps=300)
    assert constrained.g.item() == pytest.approx(truth(point_of(constrained)) - 1.5, abs=1e-6)
    assert {objective.status, constrained.status} == {Status.CONVERGED}


@pytest.mark.parametrize("seed", [5, 19, 20])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 3e-5, 1e-5])
def test_single_precision_certifies_at_a_kink_to_any_tolerance_it_has(seed: int, tolerance: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    slopes, offsets = torch.randn(4, 2, generator=generator), torch.randn(4, generator=generator)
    problem = Problem(lambda x, y: y @ (slopes @ x + offsets) + 0.05 * x @ x, over=Simplex(4))

    solution = solve(problem, 3 * torch.randn(2, generator=generator), max_steps=300, tolerance=tolerance)

    assert solution.status is Status.CONVERGED
    assert solution.steps <= 30


@pytest.mark.parametrize("metric", ["quasi-newton", "identity"])
def test_a_violation_with_a_kink_that_cannot_be_removed_is_infeasible(
    metric: Literal["quasi-newton", "identity"],
) -> None:
    box = Box(-torch.ones(2).double(), torch.ones(2).double())
    problem = Problem(lambda x: x.sum(), constraints=[Constraint(lambda x, w: w @ x + 1, box)])

    solution = solve(problem, torch.tensor([2.0, 1.0]).double(), IDBPD(metric=metric), max_steps=3000)

    assert solution.status is Status.INFEASIBLE
    assert solution.kkt.infeasibility == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_looser_tolerance_does_not_make_a_certificate_of_what_was_none(steps: int) -> None:
    (peaks,) = (kink for kink in KINKS if kink.name == "moving peaks")
    x0 = torch.tensor(peaks.starts[1]).double()
    stopped = solve(peaks.problem, x0, max_steps=steps, tolerance=1e-9)
    state = stopped.state.method
    assert isinstance(state, IDBPDState)
    loose = 1.001 * state.worst  # with several worst cases, which were not tested for being distinct

    resumed = solve(peaks.problem, x0, max_steps=steps, tolerance=loose, state=stopped.state)

    afresh = solve(peaks.problem, state.point.evaluation.x, max_steps=0, tolerance=loose)
    assert resumed.status is afresh.status
