"""Terms in numbers: exact curvature with a worst case that moves, and no trust in a recording that is not the term."""

import pytest
import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem, Status, solve
from idbpd.optim.counted_oracle import counted
from idbpd.optim.deadline import Deadline, OutOfTimeError
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import flatten
from idbpd.optim.oracle import PeakOracle
from idbpd.optim.scaling import Scaling
from idbpd.optim.sets import Box, Polyhedron


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def test_the_curvature_is_that_of_the_maximum() -> None:
    # At the answer w moves with x in its first entry; a bound holds the second.
    psi = Constraint(lambda x, w: torch.sin(x[0] + w[0]) * x[1] - w[0] ** 2 + w[1] * x[0] ** 2, Box(at(-2.0, 0.0), 1.0))
    x = at(0.4, 1.1)
    oracle = AutogradOracle(Problem(lambda x: x @ x, constraints=[psi]), flatten(x)[1])

    def gradient(x: Tensor) -> Tensor:
        return oracle.differentiate(oracle.evaluate(x, oracle.start(x))).g[0]

    (point,) = oracle.evaluate(x, oracle.start(x)).maximisers.w
    found = oracle.curvature(x, [0, 1], [None, point], [0.5, 2.0])
    steps = 1e-5 * torch.eye(2, dtype=torch.float64)
    numeric = torch.stack([(gradient(x + step) - gradient(x - step)) / 2e-5 for step in steps])
    assert found is not None
    torch.testing.assert_close(found, torch.eye(2, dtype=torch.float64) + 2.0 * numeric, rtol=1e-6, atol=1e-6)


def test_the_curvature_has_equalities_and_the_units_of_the_run() -> None:
    scaling = Scaling(objective=0.5, constraints=(4.0, 2.0), x=at(8.0, 0.25))
    problem = Problem(
        lambda x: torch.exp(x[0]) * x[1] ** 2,
        equalities=[lambda x: torch.stack([x[0] ** 2 * x[1] - 1, torch.sin(x[0] * x[1])])],
    )
    x = at(0.3, 5.0)
    oracle = AutogradOracle(problem, flatten(x)[1], scaling=scaling, equality_counts=(2,))

    def lagrangian(inside: Tensor) -> Tensor:
        x = inside * at(8.0, 0.25)
        f, (h,) = problem.objective(x), (h(x) for h in problem.equalities)
        return 0.7 * 0.5 * f - 3.0 * 4.0 * h[0] + 2.0 * 2.0 * h[1]

    found = oracle.curvature(x, [0, 1, 2], [None] * 3, [0.7, -3.0, 2.0])

    assert found is not None
    expected = torch.autograd.functional.hessian(lagrangian, x)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_polyhedron_is_left_to_tensors() -> None:
    half = Polyhedron(torch.ones(1, 2, dtype=torch.float64), at(1.0), low=0.0, high=1.0)
    psi = Constraint(lambda x, w: torch.sin(x[0] + w[0]) * x[1] - w @ w, half)
    x = at(0.4, 1.1)
    oracle = AutogradOracle(Problem(lambda x: x @ x, constraints=[psi]), flatten(x)[1])
    (point,) = oracle.evaluate(x, oracle.start(x)).maximisers.w

    assert oracle.peaks(x, 1) == []
    assert oracle.curvature(x, [0, 1], [None, point], [1.0, 1.0]) is None
    assert oracle.curvature(x, [0, 1], [None, point], [1.0, 0.0]) is not None


def test_no_peak_is_looked_for_after_the_deadline() -> None:
    psi = Constraint(lambda x, w: torch.sin(9 * w[0] + x[0]), Box(at(-1.0), 1.0))
    x, deadline = at(0.4), Deadline(1e-9)
    oracle = counted(AutogradOracle(Problem(lambda x: x @ x, constraints=[psi]), flatten(x)[1]), deadline)
    (point,) = oracle.evaluate(x, oracle.start(x)).maximisers.w

    assert isinstance(oracle, PeakOracle)
    assert len(oracle.peaks(x, 1)) > 1
    with deadline, pytest.raises(OutOfTimeError):
        oracle.peaks(x, 1)
    with deadline, pytest.raises(OutOfTimeError):
        oracle.tracked(x, 1, [point])


def test_a_term_that_leaves_torch_is_not_taken_for_what_was_recorded() -> None:
    def psi(x: Tensor, w: Tensor) -> Tensor:
        outside = torch.from_numpy(x.detach().numpy() ** 2)  # a constant, as far as the recorder sees
        return w[0] * (x[0] + 0 * outside[0]) + outside[0] - 2 - w[0] ** 2

    problem = Problem(lambda x: (x[0] - 3) ** 2, constraints=[Constraint(psi, Box(at(-1.0), at(1.0)))])
    x = at(0.5)
    oracle = AutogradOracle(problem, flatten(x)[1])
    for start in (0.5, 1.5, -2.0):
        there = at(start)
        evaluation = oracle.evaluate(there, oracle.start(there))
        w = max(min(start / 2, 1.0), -1.0)
        assert abs(float(evaluation.g[0]) - (w * start + start**2 - 2 - w**2)) <= 1e-9


def test_gradients_that_a_function_hides_stay_hidden() -> None:
    psi = Constraint(lambda x, w: w[0] * x.detach()[1] + x[0] * w[0] - w[0] ** 2 - 1, Box(at(-1.0), at(1.0)))
    x = at(0.5, 0.7)
    oracle = AutogradOracle(Problem(lambda x: x @ x, constraints=[psi]), flatten(x)[1])
    evaluation = oracle.evaluate(x, oracle.start(x))
    for _ in range(2):
        assert float(oracle.differentiate(evaluation).g[0, 1]) == 0.0


def test_a_long_way_along_flat_directions() -> None:
    # Without curvature only the constraints end a step.
    problem = Problem(
        lambda x: x[0] + x[1], constraints=[Constraint(lambda x: -x[0] - 1e6), Constraint(lambda x: -x[1])]
    )
    solution = solve(problem, at(1.0, 1.0), max_steps=50)
    assert solution.status is Status.CONVERGED
    torch.testing.assert_close(solution.x, at(-1e6, 0.0), rtol=1e-9, atol=1e-6)
