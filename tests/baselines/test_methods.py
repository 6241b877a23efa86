"""Every method on problems with a known answer, one step of each by hand, and runs that go on where they stopped."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from idbpd.baselines import (
    GDMA,
    METHODS,
    CooperAdam,
    Discretization,
    Observed,
    both_residuals,
    grid,
    make_method,
    method_options,
)
from idbpd.errors import ConfigurationError
from idbpd.optim import Constraint, Problem, Status, load_state, save_state, solve
from idbpd.optim.counted_oracle import counted
from idbpd.optim.oracle import AscentSteps, CutOracle, Evaluation, Gradients, Maximisers
from idbpd.optim.sets import Ball

CENTRE = torch.tensor([2.0, 1.0], dtype=torch.float64)
LENGTH = float(torch.linalg.vector_norm(CENTRE))
ORIGIN = torch.zeros(2, dtype=torch.float64)


class Disc:
    """The point of the unit disc nearest to the centre; the disc is given by its supporting half-planes.

    psi(x, w) = w @ x - w @ w / 2 - 1/2 is largest at w = x. The multiplier of the answer is ||centre|| - 1.
    """

    constraint_count = 1

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, (torch.zeros_like(x),))

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        f, g = 0.5 * (x - CENTRE).square().sum(), (0.5 * x @ x - 0.5).reshape(1)
        return Evaluation(x, f, g, Maximisers(None, (x,)), x.new_zeros(2))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        return Gradients(evaluation.x - CENTRE, evaluation.x.unsqueeze(0))


class DiscWithCuts(Disc):
    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        return points @ evaluation.x - 0.5 * points.square().sum(dim=1) - 0.5

    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        return factors @ points


def nearest_in_two_discs() -> Problem:
    """The same for the general oracle, with a second disc that the answer lies inside of: its multiplier is zero."""
    return Problem(
        objective=lambda x: 0.5 * (x - CENTRE).square().sum(),
        constraints=[
            Constraint(lambda x, w: w @ x - 0.5, over=Ball(ORIGIN, 0.5)),  # x in the unit disc
            Constraint(lambda x: 0.5 * x @ x - 2.0),
        ],
    )


def worst_corner() -> Problem:
    """min over x of max over y in a ball of y @ x + ||x - centre||^2 / 2, without a constraint: x shrinks by 1/2."""
    return Problem(
        objective=lambda x, y: y @ x + 0.5 * (x - CENTRE).square().sum(), over=Ball(torch.zeros(2).double(), 0.5)
    )


FAST = {"primal_rate": 0.01, "dual_rate": 0.1}
SOLVING: dict[str, dict[str, Any]] = {
    "idbpd": {},
    "idbpd_theorem2": {"horizon": 2000, "factor": 0.3},
    "cooper_adam": FAST,
    "discretization_cooper": {"primal_rate": 0.03, "dual_rate": 0.1},
}
TOLERANCES = {"idbpd": 1e-6, "idbpd_theorem2": 2e-2, "cooper_adam": 1e-2}


@pytest.mark.parametrize("name", TOLERANCES)
def test_it_finds_the_known_answer_and_its_multiplier(name: str) -> None:
    solution = solve(
        DiscWithCuts(), ORIGIN, make_method(name, SOLVING[name]), max_steps=2000, tolerance=TOLERANCES[name]
    )
    assert solution.status is Status.CONVERGED
    near = 2.5 * TOLERANCES[name]
    torch.testing.assert_close(_tensor(solution.x), CENTRE / LENGTH, atol=near, rtol=0)
    torch.testing.assert_close(solution.multipliers, torch.tensor([LENGTH - 1]).double(), atol=near, rtol=0)


def test_discretization_comes_near_the_known_answer() -> None:
    """Its multipliers go round and round, as the sum over ever more cuts; its best feasible point is near."""
    method = make_method("discretization_cooper", SOLVING["discretization_cooper"])
    solution = solve(DiscWithCuts(), ORIGIN, method, max_steps=600, tolerance=1e-3)
    assert solution.kkt.infeasibility <= 1e-3
    torch.testing.assert_close(_tensor(solution.x), CENTRE / LENGTH, atol=0.02, rtol=0)
    torch.testing.assert_close(solution.multipliers, torch.tensor([LENGTH - 1]).double(), atol=0.05, rtol=0)
    assert len(solution.state.method.cuts[0]) > 2


@pytest.mark.parametrize("name", ["cooper_adam", "discretization_cooper"])
def test_several_constraints_of_the_general_oracle(name: str) -> None:
    """An inactive constraint, here one without a w, keeps a multiplier of zero."""
    method = make_method(name, {"primal_rate": 0.03, "dual_rate": 0.1})
    solution = solve(nearest_in_two_discs(), CENTRE / 4, method, max_steps=400, tolerance=0.05)
    assert solution.status is Status.CONVERGED
    torch.testing.assert_close(_tensor(solution.x), CENTRE / LENGTH, atol=0.1, rtol=0)
    assert solution.multipliers[0] > 1
    assert solution.multipliers[1] == 0


@pytest.mark.parametrize("rho", [1, 2, 5, 10])
def test_gdma_finds_the_minimum_of_its_weighted_sum(rho: int) -> None:
    solution = solve(DiscWithCuts(), ORIGIN, GDMA(rho, gamma=0.05), max_steps=500, tolerance=1e-9)
    last = solution.state.method.evaluation.x
    torch.testing.assert_close(last, CENTRE / (1 + rho), atol=1e-6, rtol=0)
    # Stationary with lambda = rho, and yet no KKT point: the weighting leaves the constraint violated or slack.
    assert solution.history.stationarity[-1] < 1e-6
    assert solution.history.worst[-1] > 0.1


@pytest.mark.parametrize("name", METHODS)
def test_runs_without_a_constraint(name: str) -> None:
    options = {"gamma": 0.1} if "gamma" in method_options(name) else {}
    options = {"primal_rate": 0.05} if "primal_rate" in method_options(name) else options
    solution = solve(worst_corner(), CENTRE, make_method(name, options), max_steps=200, tolerance=1e-3)
    assert solution.kkt.worst <= 1e-3
    assert solution.multipliers.numel() == 0
    torch.testing.assert_close(_tensor(solution.x), CENTRE * (1 - 0.5 / LENGTH), atol=2e-3, rtol=0)


def _first_states(method: Any, count: int) -> list[Any]:
    """The states of the first steps."""
    seen: list[Any] = []
    watched = Observed(method, seen.append)
    solve(DiscWithCuts(), 2 * CENTRE, watched, max_steps=count, tolerance=1e-12)
    return seen


def test_one_step_of_cooper_by_hand() -> None:
    x = 2 * CENTRE
    before, after = _first_states(CooperAdam(primal_rate=0.25, dual_rate=0.5), 1)
    violation = 0.5 * float(x @ x) - 0.5
    multiplier = 0.5 * violation  # the multiplier moves first, from zero
    gradient = (x - CENTRE) + multiplier * x
    # Adam's first step: both averages are their first entry, so the gradient is divided by its own size.
    expected = x - 0.25 * gradient / (gradient.abs() + 1e-8)
    assert before.multipliers.tolist() == [0.0]
    torch.testing.assert_close(after.multipliers, torch.tensor([multiplier]).double())
    torch.testing.assert_close(after.evaluation.x, expected)


def test_one_step_of_gdma_by_hand() -> None:
    x = 2 * CENTRE
    _, after = _first_states(GDMA(rho=3, gamma=0.01), 1)
    torch.testing.assert_close(after.evaluation.x, x - 0.01 * ((x - CENTRE) + 3 * x), atol=1e-6, rtol=0)
    assert after.multipliers.tolist() == [3.0]


def test_one_step_on_a_cut_by_hand() -> None:
    """With one cut w the constraint is the half-plane w @ x <= (w @ w + 1) / 2, and its gradient is w."""
    x = w = 2 * CENTRE  # the worst w at x is x itself
    _, after, *_ = _first_states(Discretization(primal_rate=0.25, dual_rate=0.5), 1)
    multiplier = 0.5 * float(w @ x - 0.5 * w @ w - 0.5)
    gradient = (x - CENTRE) + multiplier * w
    torch.testing.assert_close(after.evaluation.x, x - 0.25 * gradient / (gradient.abs() + 1e-8))
    torch.testing.assert_close(after.multipliers, torch.tensor([multiplier]).double())


def test_a_cut_is_added_only_where_the_constraint_is_violated() -> None:
    method = Discretization(**FAST, inner_steps=4)
    outside = solve(DiscWithCuts(), 2 * CENTRE, method, max_steps=4, tolerance=1e-9).state.method
    assert [len(points) for points in outside.cuts] == [2]
    torch.testing.assert_close(outside.cuts[0][0], 2 * CENTRE)
    torch.testing.assert_close(outside.cuts[0][1], outside.evaluation.x)
    assert outside.cooper.multipliers[0][1] == 0
    inside = solve(DiscWithCuts(), ORIGIN, method, max_steps=4, tolerance=1e-9).state.method
    assert [len(points) for points in inside.cuts] == [1]


def test_the_cost_is_one_evaluation_and_two_gradients_per_step_of_discretization() -> None:
    method = Discretization(**FAST, inner_steps=4)
    ten = solve(DiscWithCuts(), 2 * CENTRE, method, max_steps=10, tolerance=1e-12)
    twenty = solve(DiscWithCuts(), 2 * CENTRE, method, max_steps=20, tolerance=1e-12)
    assert twenty.evaluations - ten.evaluations == 10
    assert twenty.gradients - ten.gradients == 20


@pytest.mark.parametrize("name", METHODS)
def test_a_run_goes_on_from_a_file_as_if_it_had_not_stopped(name: str, tmp_path: Path) -> None:
    options = SOLVING.get(name, {"gamma": 0.05})
    whole = solve(DiscWithCuts(), 2 * CENTRE, make_method(name, options), max_steps=14, tolerance=1e-14)
    part = solve(DiscWithCuts(), 2 * CENTRE, make_method(name, options), max_steps=7, tolerance=1e-14)
    save_state(part.state, tmp_path / "run.state")
    state = load_state(tmp_path / "run.state")
    rest = solve(DiscWithCuts(), 2 * CENTRE, make_method(name, options), 14, 1e-14, state=state)
    for one, other in zip(whole.history, rest.history, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(_tensor(whole.x), _tensor(rest.x))


def _tensor(x: Any) -> Tensor:
    assert isinstance(x, Tensor)
    return x


@pytest.mark.parametrize("name", ["cooper_adam", "discretization_cooper"])
def test_one_method_object_serves_two_runs_in_turn(name: str) -> None:
    """What it keeps of Cooper between two steps belongs to one run and must not leak into the other."""
    method = make_method(name, SOLVING[name])
    alone = solve(DiscWithCuts(), ORIGIN, method, max_steps=20, tolerance=1e-14)
    first = solve(DiscWithCuts(), ORIGIN, method, max_steps=10, tolerance=1e-14)
    solve(DiscWithCuts(), 3 * CENTRE, method, max_steps=5, tolerance=1e-14)
    rest = solve(DiscWithCuts(), ORIGIN, method, 20, 1e-14, state=first.state)
    assert torch.equal(alone.history.f, rest.history.f)


@pytest.mark.parametrize("name", ["gdma_rho10", "cooper_adam", "discretization_cooper"])
def test_a_rate_that_is_far_too_large_ends_as_diverged_with_a_finite_answer(name: str) -> None:
    steep = Problem(lambda x: (x**4).sum(), constraints=[Constraint(lambda x, w: w @ x - 1, over=Ball(ORIGIN, 1.0))])
    rates = {"gamma": 1e3} if "gamma" in method_options(name) else {"primal_rate": 1e200, "dual_rate": 1e200}
    solution = solve(steep, CENTRE, make_method(name, rates), max_steps=200, tolerance=1e-9)
    assert solution.status is Status.DIVERGED
    assert _tensor(solution.x).isfinite().all()
    assert math.isfinite(solution.f)


def test_both_residuals_judge_an_iterate_by_its_own_and_by_the_best_multiplier() -> None:
    seen = []
    method = Observed(GDMA(rho=10, gamma=0.05), lambda iterate: seen.append(both_residuals(iterate)))
    solution = solve(DiscWithCuts(), ORIGIN, method, max_steps=200, tolerance=1e-9)
    assert len(seen) == solution.steps + 1
    last = seen[-1]
    assert float(last.own.slackness) == pytest.approx(10 * (0.5 - 0.5 * (LENGTH / 11) ** 2), rel=1e-3)
    assert float(last.best.worst) < float(last.own.worst)
    assert float(last.best_multipliers) != 10


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("cooper_adm", None, "unknown method 'cooper_adm'; did you mean 'cooper_adam'? methods are idbpd, "),
        ("idbpd_paper", {"gama": 1.0}, "method 'idbpd_paper' has no option 'gama'; its options are: gamma, alpha"),
        ("idbpd_paper", {"gamma": 0.0}, "method 'idbpd_paper': gamma must be positive, got 0.0"),
        ("gdma_rho2", {"rho": 3}, "method 'gdma_rho2' has no option 'rho'; its options are: gamma"),
        ("gdma_rho2", {"gamma": -1.0}, "method 'gdma_rho2': gamma must be positive, got -1.0"),
        ("cooper_adam", {"dual_rate": 0.0}, "method 'cooper_adam': dual_rate must be positive, got 0.0"),
        ("discretization_cooper", {"inner_steps": 0}, "inner_steps must be at least 1, got 0"),
        ("discretization_cooper", {"accuracy": math.nan}, "accuracy must not be negative, got nan"),
    ],
)
def test_each_mistake_is_named(name: str, options: dict[str, Any] | None, words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        make_method(name, options)
    assert words in str(error.value)


def test_every_combination_of_every_grid_makes_a_method() -> None:
    counts = {}
    for name in METHODS:
        counts[name] = len([make_method(name, options) for options in grid(name)])
    assert counts["idbpd"] == 1
    assert counts["idbpd_paper"] == 24
    assert counts["cooper_adam"] == 16


def test_cuts_need_an_oracle_that_can_evaluate_them() -> None:
    assert not isinstance(counted(Disc()), CutOracle)  # a counted oracle can do what the oracle inside can do
    with pytest.raises(TypeError, match="discretization needs an oracle that can evaluate a constraint at a given w"):
        solve(Disc(), ORIGIN, Discretization(), max_steps=1)
    assert solve(Disc(), ORIGIN, CooperAdam(**FAST), 1000, 1e-2).status is Status.CONVERGED


@pytest.mark.parametrize("name", METHODS)
def test_an_entry_agrees_with_how_the_method_is_made(name: str) -> None:
    entry, defaults = METHODS[name], method_options(name)
    assert set(entry.grid) <= set(entry.options) <= set(defaults)
    for option, described in entry.options.items():
        assert described.default in (defaults[option], None)


def test_no_two_methods_look_the_same() -> None:
    looks = [entry.look for entry in METHODS.values() if entry.look is not None]
    assert len({look.color for look in looks}) == len({look.label for look in looks}) == len(looks) == len(METHODS)
