"""The direction and its multipliers: optimality, bounds, the closed form for one constraint, the penalty."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from idbpd.optim import Constraint, Problem, Status, solve
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.oracle import Gradients
from idbpd.optim.quasi_newton.merit import LARGEST, Merit
from idbpd.optim.quasi_newton.penalty import Penalty, choose_penalty
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel, violation

SETTINGS = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 100_000)
scales = st.sampled_from([1e-4, 1.0, 1e4])


def point(seed: int, c: int, d: int, scale: float) -> tuple[Gradients, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    f = torch.randn(d, generator=generator, dtype=torch.float64)
    G = scale * torch.randn(c, d, generator=generator, dtype=torch.float64)
    return Gradients(f, G), scale * torch.randn(c, generator=generator, dtype=torch.float64)


def build(gradients: Gradients, g: Tensor, scale: float = 1.0) -> PenaltyModel:
    """The model of a point in ``scale`` times the identity."""
    basis = torch.cat([gradients.f.unsqueeze(0), gradients.g])
    values = torch.cat([g.new_zeros(1), g])
    terms = tuple(range(values.numel()))
    return PenaltyModel(scale * basis, scale * basis @ basis.T, values, torch.zeros_like(values), terms, 1.0)


SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 6))
PENALTIES_AND_LENGTHS = st.sampled_from([(0.01, 1.0), (1.0, 1e-3), (100.0, 1.0)])


@SETTINGS
@given(seeds, SHAPES, scales, PENALTIES_AND_LENGTHS)
def test_direction_minimises_the_model(
    seed: int, shape: tuple[int, int], scale: float, setting: tuple[float, float]
) -> None:
    (c, d), (penalty, t) = shape, setting
    gradients, g = point(seed, c, d, scale)
    model = build(gradients, g, 0.5)

    proposal = model.propose(t, penalty)

    step = model.direction(proposal)

    def value(v: Tensor) -> float:
        return float(gradients.f @ v + v @ v / (2 * t * 0.5)) + penalty * violation(g + gradients.g @ v)

    assert bool((proposal.multipliers >= 0).all())
    assert float(proposal.multipliers.sum()) <= penalty * (1 + 1e-9)
    size = abs(value(step)) + penalty * scale
    # The model does not count a violation below the rounding of its own terms.
    uncounted = 64 * torch.finfo(torch.float64).eps * t * float((model.gram.abs() @ proposal.weights).amax())
    expected = pytest.approx(proposal.reduction, abs=1e-8 * size + 2 * penalty * uncounted)
    assert value(0 * step) - value(step) == expected
    assert proposal.reduction >= -1e-9 * size
    generator = torch.Generator().manual_seed(seed)
    for length in (1e-3, 0.1, 1.0):
        other = step + length * (step.norm() + 1e-3) * torch.randn(d, generator=generator, dtype=torch.float64)
        assert value(other) >= value(step) - 1e-9 * size


@SETTINGS
@given(seeds, st.integers(2, 4), st.integers(0, 3), PENALTIES_AND_LENGTHS)
def test_direction_minimises_the_model_with_several_rows_per_term(
    seed: int, k: int, c: int, setting: tuple[float, float]
) -> None:
    penalty, t = setting
    generator = torch.Generator().manual_seed(seed)
    basis = torch.randn(k + c, 4, generator=generator, dtype=torch.float64)
    values = torch.randn(k + c, generator=generator, dtype=torch.float64)
    values[:k] = -values[:k].abs()
    values[0] = 0.0  # the worst case of the point
    model = PenaltyModel(basis, basis @ basis.T, values, torch.zeros_like(values), (0,) * k + (1,) * c, 1.0)

    proposal = model.propose(t, penalty)

    def value(v: Tensor) -> float:
        rows = values + basis @ v
        return float(rows[:k].amax() + v @ v / (2 * t)) + penalty * violation(rows[k:])

    step = model.direction(proposal)
    assert float(proposal.weights[:k].sum()) == pytest.approx(1)
    assert float(proposal.multipliers.sum()) <= penalty * (1 + 1e-9)
    size = 1 + abs(value(step)) + penalty
    assert value(0 * step) - value(step) == pytest.approx(proposal.reduction, abs=1e-8 * size)
    for length in (1e-3, 0.1, 1.0):
        other = step + length * (step.norm() + 1e-3) * torch.randn(4, generator=generator, dtype=torch.float64)
        assert value(other) >= value(step) - 1e-9 * size
    change = model.foreseen_change(proposal, values[k:].amax().reshape(-1) if c else values[:0])
    assert float(change[0]) == pytest.approx(proposal.slope)


@SETTINGS
@given(seeds, st.integers(1, 6), scales)
def test_one_constraint_is_the_closed_form(seed: int, d: int, scale: float) -> None:
    gradients, g = point(seed, 1, d, scale)
    model = build(gradients, g, 0.5)

    found = float(model.propose(1.0, 1e9).multipliers)

    G, f = gradients.g[0], gradients.f
    expected = max(float(-0.5 * G @ f + g[0]), 0.0) / float(0.5 * G @ G)  # kappa = 1
    assert found == pytest.approx(min(expected, 1e9))


def test_multiplier_stays_bounded_where_the_gradient_vanishes() -> None:
    gradients = Gradients(torch.tensor([1.0, 0.0]).double(), torch.tensor([[0.0, 1e-12]]).double())
    model = build(gradients, torch.tensor([1.0]).double())

    proposal = model.propose(1.0, 10.0)

    assert float(proposal.multipliers) == 10
    torch.testing.assert_close(model.direction(proposal), torch.tensor([-1.0, -1e-11]).double())


def test_the_penalty_is_raised_only_as_far_as_needed() -> None:
    # min -x with x <= 0 at x = 1: the multiplier is 2 in the identity metric.
    gradients = Gradients(torch.tensor([-1.0]).double(), torch.tensor([[1.0]]).double())
    model = build(gradients, torch.tensor([1.0]).double())

    assert choose_penalty(model, Penalty(50.0), 1e-6) == (50.0, False)  # enough already
    assert choose_penalty(model, Penalty(1.0), 1e-6) == (3.0, False)  # half as much again as needed
    assert choose_penalty(model, Penalty(0.1), 1e-6) == (1.0, False)  # at most tenfold at a time
    assert choose_penalty(model, Penalty(0.0), 1e-6) == (3.0, False)  # the first choice


def test_the_penalty_is_not_raised_for_a_violation_that_is_allowed() -> None:
    # min -x with x <= 0 at x = 1: the multiplier is 2, and 1.5 where x may be 0.5.
    gradients = Gradients(torch.tensor([-1.0]).double(), torch.tensor([[1.0]]).double())
    model = build(gradients, torch.tensor([1.0]).double())

    assert choose_penalty(model, Penalty(1.0), 1e-6, 0.5) == (1.5 * 1.5, False)
    assert choose_penalty(model, Penalty(1.0), 1e-6, 2.0) == (1.0, False)
    assert choose_penalty(model, Penalty(1e6), 1e-6, 2.0) == (1e5, False)  # and it may fall


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_of_an_equality_either_sign_is_allowed(value: float) -> None:
    gradients = Gradients(torch.tensor([-value]).double(), torch.tensor([[1.0]]).double())
    model = build(gradients, torch.tensor([value]).double())._replace(equalities=1)

    assert choose_penalty(model, Penalty(1.0), 1e-6, 0.5) == (1.5 * 1.5, False)


def test_a_limit_at_the_least_value_of_its_term_does_not_hold_the_objective_up() -> None:
    # On the circle the gradient of the constraint is zero, so that no penalty keeps the run on it around to (1, 0).
    problem = Problem(
        objective=lambda x: (x[0] - 1) ** 2 + x[1] ** 2,
        constraints=[Constraint(lambda x: (x.square().sum() - 1) ** 2)],
    )

    solution = solve(problem, torch.tensor([-1.0, 0.1], dtype=torch.float64), max_steps=200, tolerance=1e-6)

    assert solution.status is Status.CONVERGED
    torch.testing.assert_close(solution.x, torch.tensor([1.0, 0.0], dtype=torch.float64))


def test_a_patient_choice_lets_the_objective_have_its_say_while_the_violation_falls() -> None:
    # Far from feasible: the linearised constraint asks for a multiplier of 101.
    gradients = Gradients(torch.tensor([-1.0, 0.0]).double(), torch.tensor([[1.0, 0.0]]).double())
    model = build(gradients, torch.tensor([100.0]).double())

    assert choose_penalty(model, Penalty(0.0), 1e-6) == (151.5, False)
    assert choose_penalty(model, Penalty(0.0, is_patient=True), 1e-6) == (3.0, False)
    assert choose_penalty(model, Penalty(3.0), 1e-6) == (30.0, False)
    assert choose_penalty(model, Penalty(3.0, is_patient=True), 1e-6) == (
        3.0,
        False,
    )  # the step leads straight out of the violation


def test_a_patient_choice_raises_the_penalty_where_the_step_heads_elsewhere() -> None:
    gradients = Gradients(torch.tensor([0.0, -10.0]).double(), torch.tensor([[1.0, 0.0]]).double())
    model = build(gradients, torch.tensor([100.0]).double())

    assert choose_penalty(model, Penalty(1.0, is_patient=True), 1e-6) == (10.0, False)  # one of ten along the objective
    assert choose_penalty(model, Penalty(10.0, is_patient=True), 1e-6) == (10.0, False)


def test_a_violation_within_rounding_error_is_ignored() -> None:
    merit = Merit(1.0, 1e6, (1e-7, 1e-6, 1e-8))
    rounded, violated = torch.tensor([1e-6, -1.0]).double(), torch.tensor([-1.0, 3e-8]).double()

    assert merit.at(2.0, rounded) == 2.0
    assert merit.at(2.0, violated) == pytest.approx(2.0 + 1e6 * 2e-8)
    assert merit.noise(rounded) == 1e-7
    assert merit.noise(violated) == pytest.approx(1e-7 + 1e6 * 1e-6)


def test_the_choice_gives_up_where_no_penalty_helps() -> None:
    gradients = Gradients(torch.tensor([-1.0]).double(), torch.tensor([[0.0]]).double())
    model = build(gradients, torch.tensor([1.0]).double())

    penalty, hopeless = choose_penalty(model, Penalty(LARGEST / 5), 1e-6)

    assert hopeless
    assert math.isfinite(penalty)


def test_the_choice_lowers_a_penalty_far_beyond_need_where_it_does_not_matter() -> None:
    gradients = Gradients(torch.tensor([-1.0]).double(), torch.tensor([[1.0]]).double())
    model = build(gradients, torch.tensor([0.0]).double())

    assert choose_penalty(model, Penalty(1e6), 1e-6) == (1e5, False)


@SETTINGS
@given(seeds, st.integers(1, 5), st.integers(1, 6), scales)
def test_best_multipliers_have_the_least_residual(seed: int, c: int, d: int, scale: float) -> None:
    gradients, g = point(seed, c, d, scale)
    lam = best_multipliers(g, gradients)

    def squared(candidate: Tensor) -> float:
        lagrangian = gradients.f + candidate @ gradients.g
        return float(lagrangian @ lagrangian + (candidate * g).square().sum())

    assert bool((lam >= 0).all())
    generator = torch.Generator().manual_seed(seed)
    for length in (1e-4, 0.1, 1.0):
        other = (lam + length / scale * torch.randn(c, generator=generator, dtype=torch.float64)).clamp(min=0)
        assert squared(other) >= squared(lam) * (1 - 1e-9) - 1e-12


def test_best_multiplier_of_an_inactive_constraint_is_small() -> None:
    gradients = Gradients(torch.tensor([-1e-9, 0.0]).double(), torch.tensor([[1.0, 0.0]]).double())

    lam = best_multipliers(torch.tensor([-5.0]).double(), gradients)

    assert 0 <= float(lam) <= 1e-9
    found = residuals(torch.tensor([-5.0]).double(), gradients, lam).measured()
    assert found.worst <= 1e-8
