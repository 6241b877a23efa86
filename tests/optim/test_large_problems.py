"""Problems with many variables or many worst cases at once, and random semi-infinite ones: the answer, certified."""

from functools import partial

import pytest
import torch
from torch import Tensor

from idbpd.optim import Status, solve
from idbpd.optim.sets import Box
from tests.optim.bank.large import LARGE, random_semi_infinite


@pytest.mark.parametrize("name", LARGE)
def test_the_least_value_is_found_with_a_certificate(name: str) -> None:
    problem, start, least = LARGE[name]()
    solution = solve(problem, start, max_steps=100)
    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.f == pytest.approx(least, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_random_semi_infinite_problems_end_with_a_certificate(seed: int) -> None:
    problem, start = random_semi_infinite(seed)
    solution = solve(problem, start, max_steps=150)
    assert solution.status is Status.CONVERGED, solution.reason
    # No point of a fine grid is worse than was said.
    assert isinstance(solution.x, Tensor)
    for constraint in problem.constraints:
        assert isinstance(constraint.over, Box)
        ticks = [torch.linspace(0, 2, 30, dtype=torch.float64)] * constraint.over.dimension
        grid = torch.stack(torch.meshgrid(*ticks, indexing="ij"), dim=-1).reshape(-1, constraint.over.dimension)
        assert float(torch.vmap(partial(constraint.psi, solution.x))(grid).max()) <= 2e-6
