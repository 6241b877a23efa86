"""Problems whose worst case at the answer is not unique: the answer, the multipliers, and a certificate that a user can
recompute.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Problem, RunState, Solution, Status, load_state, save_state, solve
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import flatten
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from idbpd.optim.quasi_newton.phases import IDBPDState
from idbpd.optim.sets import Box, ConvexSet, Simplex
from tests.optim.bank import KINKS, Kink
from tests.optim.bank.kinks import like, sides

RUNS = [pytest.param(kink, start, id=f"{kink.name}-{i}") for kink in KINKS for i, start in enumerate(kink.starts)]


def point_of(solution: Solution) -> Tensor:
    assert isinstance(solution.x, Tensor)
    return solution.x


def recomputed(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Stationarity and slackness, as a user finds them from what was returned and nothing else."""
    x = point_of(solution).clone().requires_grad_()
    values = [problem.objective(x) if solution.y is None else problem.objective(x, solution.y)]
    for constraint, w in zip(problem.constraints, solution.w, strict=True):
        values.append(constraint.psi(x) if w is None else constraint.psi(x, w))
    weights = [1.0, *solution.multipliers.tolist()]
    total = sum((weight * value for weight, value in zip(weights, values, strict=True)), torch.zeros(()))
    (gradient,) = torch.autograd.grad(total, x)
    values = [value.detach() for value in values]
    gaps = [
        abs(solution.f - float(values[0])),
        *(abs(v * float(g)) for v, g in zip(weights[1:], values[1:], strict=True)),
    ]
    return float(gradient.norm()), max(gaps)


@pytest.mark.parametrize(("kink", "start"), RUNS)
def test_the_answer_has_a_certificate(kink: Kink, start: Sequence[float]) -> None:
    solution = solve(kink.problem, torch.tensor(start, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.kkt.worst <= 1e-6
    assert solution.evaluations <= 25
    torch.testing.assert_close(point_of(solution), torch.tensor(kink.x).double(), rtol=0, atol=1e-5)
    assert solution.f == pytest.approx(kink.f, abs=2e-6)
    torch.testing.assert_close(solution.multipliers, torch.tensor(kink.multipliers).double(), rtol=0, atol=1e-4)
    if kink.y is not None:
        assert solution.y is not None
        torch.testing.assert_close(solution.y, torch.tensor(kink.y).double(), rtol=0, atol=1e-3)
    stationarity, slackness = recomputed(kink.problem, solution)
    assert slackness <= 1e-6
    # One worst case of a term that is not concave does not tell; the mixture of worst cases of one that is does.
    assert (stationarity <= 1e-6) == kink.concave


@pytest.mark.parametrize("kink", KINKS, ids=lambda kink: kink.name)
def test_single_precision(kink: Kink) -> None:
    def narrow(over: ConvexSet | None) -> ConvexSet | None:
        return Box(over.low.float(), over.high.float()) if isinstance(over, Box) else over

    constraints = [Constraint(constraint.psi, narrow(constraint.over)) for constraint in kink.problem.constraints]
    problem = Problem(kink.problem.objective, narrow(kink.problem.over), constraints)

    solution = solve(problem, torch.tensor(kink.starts[0], dtype=torch.float32), tolerance=1e-4, max_steps=200)

    assert solution.status is Status.CONVERGED, solution.reason
    assert point_of(solution).dtype == torch.float32
    torch.testing.assert_close(point_of(solution).double(), torch.tensor(kink.x).double(), rtol=0, atol=3e-3)


@pytest.mark.parametrize("seed", range(4))
def test_absolute_errors(seed: int) -> None:
    # The least sum of absolute errors passes through as many points as there are variables. |y| <= 1 shows it optimal.
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(15, 4, generator=generator, dtype=torch.float64)
    b = torch.randn(15, generator=generator, dtype=torch.float64)
    problem = Problem(lambda x, y: y @ (A @ x - b), sides(15))

    solution = solve(problem, torch.zeros(4, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.y is not None
    errors = A @ point_of(solution) - b
    assert int((errors.abs() <= 1e-6).sum()) == 4
    assert float(solution.y.abs().max()) <= 1 + 1e-12
    torch.testing.assert_close(A.T @ solution.y, torch.zeros(4).double(), rtol=0, atol=1e-6)
    torch.testing.assert_close(solution.y @ errors, errors.abs().sum(), rtol=0, atol=1e-6)


def test_a_known_minimax_problem() -> None:
    # Rosen and Suzuki's problem with an exact penalty: three of the four pieces meet at (0, 1, 2, -1).
    def pieces(x: Tensor) -> Tensor:
        f = x @ (like(x, 1, 1, 2, 1) * x) + like(x, -5, -5, -21, 7) @ x
        first = x @ x + like(x, 1, -1, 1, -1) @ x - 8
        second = x @ (like(x, 1, 2, 1, 2) * x) - x[0] - x[3] - 10
        third = x[:3] @ x[:3] + 2 * x[0] - x[1] - x[3] - 5
        return f + 10 * torch.stack([0 * x[0], first, second, third])

    solution = solve(Problem(lambda x, y: y @ pieces(x), Simplex(4)), torch.zeros(4, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(point_of(solution), torch.tensor([0, 1, 2, -1]).double(), rtol=0, atol=1e-5)
    assert solution.f == pytest.approx(-44)
    # The multipliers 1 and 2 of the first and third constraint, divided by the penalty 10.
    torch.testing.assert_close(solution.y, torch.tensor([0.7, 0.1, 0, 0.2]).double(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("start", [[3.0, 4.0], [-0.2, 7.0]])
def test_constraints_with_a_kink_that_cannot_be_met(start: Sequence[float]) -> None:
    # ||x||_1 + 1 <= 0 is least violated at the kink.
    problem = Problem(lambda x: (x - 1).square().sum(), constraints=[Constraint(lambda x, w: w @ x + 1, sides(2))])

    solution = solve(problem, torch.tensor(start, dtype=torch.float64))

    assert solution.status is Status.INFEASIBLE, solution.reason
    assert solution.kkt.infeasibility == pytest.approx(1, abs=1e-4)
    assert solution.evaluations <= 400


def test_no_certificate_where_there_are_no_multipliers() -> None:
    # |x1| <= x0^3 has a cusp at 0: no multipliers there, however many worst cases.
    constraint = Constraint(lambda x, w: w @ torch.stack([x[1] - x[0] ** 3, -x[1] - x[0] ** 3]), Simplex(2))
    problem = Problem(lambda x: x[0], constraints=[constraint])

    solution = solve(problem, torch.tensor([-2.6, -1.4], dtype=torch.float64))

    assert solution.status is Status.MAX_STEPS
    assert solution.steps <= 2000
    assert solution.kkt.worst > 1e-6
    assert solution.state.method.bundle is not None  # several worst cases were tried
    torch.testing.assert_close(point_of(solution), torch.zeros(2).double(), rtol=0, atol=2e-2)


def test_a_kink_that_is_no_worst_case_ends_the_run_in_time() -> None:
    problem = Problem(lambda x: x.abs().sum() + 0.1 * (x - 1).square().sum())

    solution = solve(problem, torch.tensor([0.9, 0.5], dtype=torch.float64))

    assert solution.status is Status.MAX_STEPS
    assert "no step gains anything" in solution.reason
    assert solution.steps <= 1000
    assert solution.kkt.worst > 0.1
    torch.testing.assert_close(point_of(solution), torch.zeros(2).double(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["quasi-newton", "identity"])
def test_either_metric(metric: Literal["quasi-newton", "identity"]) -> None:
    kink = next(kink for kink in KINKS if kink.name == "diamond")
    solution = solve(kink.problem, torch.tensor(kink.starts[0], dtype=torch.float64), IDBPD(metric=metric))

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.w[0] is not None
    torch.testing.assert_close(solution.w[0], torch.tensor([1, 0.3]).double(), rtol=0, atol=1e-5)


def test_a_kink_in_the_identity_metric() -> None:
    (planes,) = (kink for kink in KINKS if kink.name == "three planes")

    solution = solve(planes.problem, torch.tensor([-3.0, 1.0], dtype=torch.float64), IDBPD(metric="identity"))

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.steps <= 1000
    torch.testing.assert_close(point_of(solution), torch.tensor(planes.x).double(), rtol=0, atol=1e-5)


class _Kept:
    """Every state of a run, as a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.within: list[int] = []  # steps with several worst cases per term

    def due(self, step: int) -> bool:
        return True

    def keep(self, state: RunState) -> None:
        save_state(state, self._folder / f"{state.step}.pt")
        assert isinstance(state.method, IDBPDState)
        if state.method.bundle is not None:
            self.within.append(state.step)


@pytest.mark.parametrize("name", ["chebyshev", "moving peaks"])
def test_a_run_goes_on_from_a_file_with_several_worst_cases(name: str, tmp_path: Path) -> None:
    kink = next(kink for kink in KINKS if kink.name == name)
    x0, kept = torch.tensor(kink.starts[0], dtype=torch.float64), _Kept(tmp_path)
    whole = solve(kink.problem, x0, keeper=kept)
    assert len(kept.within) >= 2
    assert whole.steps > kept.within[0]
    for step in {kept.within[0], kept.within[len(kept.within) // 2], kept.within[-1]}:
        rest = solve(kink.problem, x0, state=load_state(tmp_path / f"{step}.pt"))

        assert torch.equal(point_of(rest), point_of(whole))
        assert torch.equal(rest.multipliers, whole.multipliers)
        assert rest.kkt == whole.kkt
        assert (rest.steps, rest.evaluations, rest.gradients) == (whole.steps, whole.evaluations, whole.gradients)
        assert all(torch.equal(one, other) for one, other in zip(rest.history, whole.history, strict=True))


class _Opaque:
    """An oracle that knows its terms at their maximisers only."""

    def __init__(self, oracle: AutogradOracle) -> None:
        self._oracle = oracle

    @property
    def constraint_count(self) -> int:
        return self._oracle.constraint_count

    def start(self, x: Tensor) -> Maximisers:
        return self._oracle.start(x)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        return self._oracle.evaluate(x, warm, steps)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        return self._oracle.differentiate(evaluation)


def test_an_oracle_that_knows_one_worst_case_only() -> None:
    kink = KINKS[0]
    x0 = torch.tensor(kink.starts[0], dtype=torch.float64)

    solution = solve(_Opaque(AutogradOracle(kink.problem, flatten(x0)[1])), x0, max_steps=60)

    assert solution.status is Status.MAX_STEPS
    assert solution.kkt.worst > 1
    assert solution.state.method.bundle is None
    assert solution.gradients <= solution.evaluations


def robust_squares(seed: int, penalty: float, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Problem]:
    """Smooth, but almost the largest square: the maximiser over the simplex is unique, and moves fast."""
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(12, 4, generator=generator, dtype=torch.float64).to(dtype)
    b = torch.randn(12, generator=generator, dtype=torch.float64).to(dtype)
    n = b.numel()
    return A, b, Problem(lambda x, y: y @ (A @ x - b).square() - penalty * (y - 1 / n).square().sum(), Simplex(n))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_certificate_holds_at_the_only_worst_case(seed: int, penalty: float) -> None:
    A, b, problem = robust_squares(seed, penalty)

    solution = solve(problem, torch.zeros(4, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    x = point_of(solution)
    residual = A @ x - b
    y = Simplex(12).project(1 / 12 + residual.square() / (2 * penalty))  # in closed form
    assert float((2 * (y * residual) @ A).norm()) <= 3e-6


@pytest.mark.parametrize("seed", range(4))
def test_in_single_precision_no_certificate_comes_from_a_worst_case_that_has_moved(seed: int) -> None:
    # The quadratic has one maximiser, but points next to it miss its value by less than rounding.
    A, b, problem = robust_squares(seed, 1e-3, torch.float32)

    solution = solve(problem, torch.zeros(4), tolerance=1e-3, max_steps=400)

    residual = A.double() @ point_of(solution).double() - b.double()
    y = Simplex(12).project(1 / 12 + residual.square() / 2e-3)
    stationarity = float((2 * (y * residual) @ A.double()).norm())
    assert solution.status is not Status.CONVERGED or stationarity <= 1e-2


@pytest.mark.parametrize("seed", [114, 128, 147])
def test_a_peak_halfway_between_two_others_does_not_make_them_one(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    count = 3 + seed % 3
    slopes = torch.randn(count, 2, generator=generator, dtype=torch.float64)
    heights = 3 + 0.3 * torch.randn(count, generator=generator, dtype=torch.float64)
    places = torch.linspace(-1, 1, count, dtype=torch.float64)

    def phi(x: Tensor, y: Tensor) -> Tensor:
        peaks = torch.exp(-((y - places) * count / 0.3).square() / 2)
        return (slopes @ x + heights) @ peaks + 0.05 * x @ x

    solution = solve(Problem(phi, sides(1)), torch.randn(2, generator=generator, dtype=torch.float64), max_steps=400)

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.evaluations <= 20


def test_peaks_that_are_all_equal_at_the_answer_are_told_apart() -> None:
    # At x = 0 every u is a worst case, and values near it are all rounding; found by a review.
    slope = 2 * torch.randn(2, generator=torch.Generator().manual_seed(1009), dtype=torch.float64)

    def phi(x: Tensor, u: Tensor) -> Tensor:
        waves: Tensor = u[0] * x[0] - torch.sin(3 * u[0]) * x[1] - 0.5 * u[0] ** 2 * x[0] + u[1] * x[1]
        return waves + 0.5 * (x @ x) + x @ slope

    solution = solve(Problem(phi, sides(2)), torch.full((2,), 0.1, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(point_of(solution), torch.zeros(2).double(), rtol=0, atol=1e-9)


def test_in_single_precision_rounding_is_not_taken_for_a_kink() -> None:
    A, b, problem = robust_squares(0, 1.0, torch.float32)

    solution = solve(problem, torch.zeros(4), tolerance=1e-9)

    assert solution.status is Status.MAX_STEPS
    assert solution.gradients <= 1.5 * solution.evaluations
    residual = A.double() @ point_of(solution).double() - b.double()
    y = Simplex(12).project(1 / 12 + residual.square() / 2)
    assert float((2 * (y * residual) @ A.double()).norm()) <= 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_a_kink_in_one_term_and_a_worst_case_that_moves_in_the_other(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(10, 4, generator=generator, dtype=torch.float64)
    b = torch.randn(10, generator=generator, dtype=torch.float64).abs()  # so that x = 0 is feasible
    target = torch.randn(4, generator=generator, dtype=torch.float64)
    penalty, side = 1e-3, torch.full((4,), 0.5, dtype=torch.float64)
    problem = Problem(
        lambda x, y: y @ x + 0.5 * (x - target).square().sum(),
        Box(-side, side),
        [Constraint(lambda x, w: w @ (A @ x - b) - penalty * (w - 0.1).square().sum() - 0.2, Simplex(10))],
    )

    solution = solve(problem, torch.full((4,), 0.3, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.steps <= 400
    x, (multiplier,) = point_of(solution), solution.multipliers
    w = Simplex(10).project(0.1 + (A @ x - b) / (2 * penalty))  # in closed form
    wanted = -(x - target + multiplier * (w @ A))  # an element of the subdifferential of 0.5 ||x||_1
    assert bool((wanted.abs() <= 0.5 + 1e-5).all())
    assert float((wanted @ x - 0.5 * x.abs().sum()).abs()) <= 1e-5


@pytest.mark.parametrize("seed", [9, 11, 13, 20, 28])
def test_an_inactive_constraint_has_no_multiplier_and_shows_its_worst_case(seed: int) -> None:
    torch.manual_seed(seed)
    float64 = torch.float64
    centre, slack = torch.randn(3, dtype=float64), torch.rand(3, dtype=float64)[0]
    B = torch.randn(2, 3, dtype=float64)
    side = torch.ones(2, dtype=float64)
    constraint = Constraint(lambda x, w: 3 * w @ (B @ x) - 10 * slack - 0.1, Box(-side, side))
    problem = Problem(
        lambda x, y: y @ x[:2] + 0.5 * (x - 0.6 * centre).square().sum() + 0.1 * x[0] ** 4,
        Box(-side, side),
        [constraint],
    )

    solution = solve(problem, torch.tensor([2.0, 1.5, 1.0], dtype=float64) * torch.randn(3, dtype=float64))

    assert solution.status is Status.CONVERGED
    for g, multiplier, w in zip(solution.g, solution.multipliers, solution.w, strict=True):
        assert float(constraint.psi(point_of(solution), w)) == pytest.approx(float(g), abs=1e-6)
        assert g > -1e-6 or multiplier == 0
