"""No false certificates: what is not known is not claimed, and the user's word is tested before it is believed."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Known, Problem, Status, load_state, save_state, solve
from idbpd.optim.sets import Ball, Box, ChiSquareBall, Simplex, Space
from tests.optim.bank.worst_cases import HIDDEN, Hidden, cube, is_false, unit_ball


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize("case", HIDDEN, ids=lambda case: case.name)
def test_no_false_certificate(case: Hidden) -> None:
    solution = solve(case.problem, torch.tensor(case.start, dtype=torch.float64), max_steps=300)

    assert not is_false(case, solution)
    if case.solved:
        assert solution.status is Status.CONVERGED, solution.reason
        assert Known.LOCAL not in solution.known
        assert solution.inner_error <= 1e-6
    else:
        assert solution.status is Status.LOCAL
        assert solution.inner_error == math.inf
    if case.answer is not None:
        assert solution.f == pytest.approx(case.answer, abs=1e-5 * (1 + abs(case.answer)))


def test_the_bank_would_catch_a_false_certificate() -> None:
    case = next(case for case in HIDDEN if case.name == "level: narrow bump in 4")
    honest = solve(case.problem, at(0.0))
    false = honest._replace(x=at(0.0), f=0.0, status=Status.CONVERGED)
    assert is_false(case, false)
    assert not is_false(case, false._replace(status=Status.LOCAL))


def opaque(w: Tensor) -> Tensor:
    """Concave, but no rule is known for its operations."""
    value: Tensor = -torch.special.i0(w).sum()
    return value


@pytest.mark.parametrize("over", [cube(3), unit_ball(3), Simplex(3)])
def test_a_word_for_concavity_is_enough_where_nothing_speaks_against_it(over: Box | Ball | Simplex) -> None:
    def psi(x: Tensor, w: Tensor) -> Tensor:
        return opaque(w) + x[0] * w.sum() - 1

    objective = Problem(lambda x: (x[0] - 3) ** 2, constraints=[Constraint(psi, over)])
    stated = Problem(lambda x: (x[0] - 3) ** 2, constraints=[Constraint(psi, over, concave=True)])

    local, solution = solve(objective, at(0.0)), solve(stated, at(0.0))

    assert local.status is Status.LOCAL
    assert local.inner_error == math.inf
    assert "constraints[0]" in local.reason
    assert solution.status is Status.CONVERGED
    assert solution.known == (Known.EXACT, Known.STATED)
    assert solution.inner_error <= 1e-6
    torch.testing.assert_close(solution.x, local.x, rtol=0, atol=1e-5)


def test_a_false_word_for_concavity_is_refused() -> None:
    constraint = Constraint(lambda x, w: -opaque(w) * x[0] - 4, cube(3), concave=True)
    solution = solve(Problem(lambda x: (x[0] - 3) ** 2, constraints=[constraint]), at(0.0))

    assert solution.status is Status.LOCAL
    assert "constraints[0].psi is not concave" in solution.reason


def test_a_maximiser_of_the_user_is_used_and_believed() -> None:
    def psi(x: Tensor, w: Tensor) -> Tensor:
        value: Tensor = torch.special.i0(3 * w * x[0]).sum() - 4
        return value

    constraint = Constraint(psi, cube(2), maximise=lambda x: torch.ones_like(x).expand(2))
    solution = solve(Problem(lambda x: (x[0] - 3) ** 2, constraints=[constraint]), at(0.5))

    assert solution.status is Status.CONVERGED
    assert solution.known[1] is Known.STATED
    assert solution.w[0] is not None
    assert solution.w[0].tolist() == [1.0, 1.0]
    assert float(2 * torch.special.i0(3 * solution.x[0])) == pytest.approx(4, abs=1e-5)  # type: ignore[index]


def test_a_wrong_maximiser_of_the_user_is_found_out() -> None:
    constraint = Constraint(lambda x, w: w[0] * x[0] - 1, cube(1), maximise=torch.zeros_like)
    solution = solve(Problem(lambda x: (x[0] - 3) ** 2, constraints=[constraint]), at(0.5))

    # The verification has found the true worst case, and the run has gone on with it.
    assert solution.w[0] is not None
    assert solution.w[0].tolist() == [1.0]
    assert float(solution.x[0]) == pytest.approx(1, abs=1e-5)  # type: ignore[index]


@pytest.mark.parametrize(
    ("returned", "message"),
    [(at(1.0, 2.0, 3.0), r"shape \(2,\), got \(3,\)"), (at(5.0, 0.0), "a point of the set"), ("w", "got str")],
)
def test_what_a_maximiser_returns_is_checked(returned: object, message: str) -> None:
    constraint = Constraint(lambda x, w: w.sum() * x[0], cube(2), maximise=lambda _: returned)  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match=message):
        solve(Problem(lambda x: x[0] ** 2, constraints=[constraint]), at(1.0))


def test_words_without_a_set_are_refused() -> None:
    with pytest.raises(ValueError, match="over is None"):
        Constraint(lambda x: x.sum(), concave=True)
    with pytest.raises(TypeError, match="True or False"):
        Problem(lambda x, y: x @ y, over=cube(2), concave=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a function of x"):
        Problem(lambda x, y: x @ y, over=cube(2), maximise=at(1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("psi", "over"),
    [
        (lambda x, w: w @ x - w @ w, Space(2)),
        (lambda x, w: w @ x, ChiSquareBall(2, 0.1)),
        (lambda x, w: w @ x - (w * w.log()).sum(), Simplex(2)),
        (lambda x, w: w @ x - (w**4).sum(), cube(2)),
        (lambda x, w: w @ x - torch.logsumexp(3 * w, 0), unit_ball(2)),
    ],
)
def test_concave_functions_are_known_exactly(psi: Callable[[Tensor, Tensor], Tensor], over: Space) -> None:
    problem = Problem(
        lambda x: (x - at(2, 1)).square().sum(), constraints=[Constraint(lambda x, w: psi(x, w) - 1, over)]
    )
    solution = solve(problem, at(0.1, 0.2))

    assert solution.status is Status.CONVERGED
    assert solution.known == (Known.EXACT, Known.EXACT)


def test_an_effort_that_is_too_small_ends_local_and_a_larger_one_knows() -> None:
    def psi(x: Tensor, w: Tensor) -> Tensor:
        return torch.sin(9 * w[0] * w[1]) + torch.cos(8 * w[1] + w[0]) * w[0] - 0.5 * w[0] ** 2 - x[0]

    problem = Problem(lambda x: x[0], constraints=[Constraint(psi, cube(2))])
    few, many = (solve(problem, at(0.0), effort=effort) for effort in (0.001, 1.0))

    assert few.status is Status.LOCAL
    assert many.status is Status.CONVERGED
    with pytest.raises(ValueError, match="effort"):
        solve(problem, at(0.0), effort=0.0)


def test_the_papers_method_is_verified_at_its_end() -> None:
    problem = Problem(
        lambda x: 0.5 * (x[0] - 1) ** 2,
        constraints=[Constraint(lambda x, w: torch.relu(w[0] - 0.9) + x[0] - 9, cube(1))],
    )
    solution = solve(problem, at(0.5), IDBPD.paper(gamma=0.5), max_steps=200, tolerance=1e-3)

    assert solution.status is Status.CONVERGED
    assert solution.known == (Known.EXACT, Known.EXACT)
    assert float(solution.g) == pytest.approx(float(solution.x[0]) + 0.1 - 9)  # type: ignore[index]


def test_a_run_goes_on_from_a_file_with_the_worst_cases_it_had_found(tmp_path: object) -> None:
    case = next(case for case in HIDDEN if case.name == "hinge, ball of 8")
    start = torch.tensor(case.start, dtype=torch.float64)
    whole = solve(case.problem, start)
    parts = solve(case.problem, start, max_steps=whole.steps - 1)
    save_state(parts.state, f"{tmp_path}/state")
    resumed = solve(case.problem, start, state=load_state(f"{tmp_path}/state"))

    assert any(parts.state.worst_cases)
    assert torch.equal(torch.as_tensor(resumed.x), torch.as_tensor(whole.x))


def test_a_time_limit_ends_a_run_with_the_best_point_so_far() -> None:
    problem = Problem(lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)
    solution = solve(problem, at(-1.2, 1.0), time_limit=1e-9)

    assert solution.status is Status.MAX_STEPS
    assert "time limit" in solution.reason
    assert solution.steps <= 1
    with pytest.raises(ValueError, match="time_limit"):
        solve(problem, at(-1.2, 1.0), time_limit=-1.0)


def test_sets_that_are_not_offered_are_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"depends on x, write w = a\(x\)"):
        Constraint(lambda x, w: x @ w, over=lambda x: cube(2))  # type: ignore[arg-type]  # noqa: ARG005
    with pytest.raises(TypeError, match="one Box"):
        Constraint(lambda x, w: x @ w, over=[cube(1), cube(1)])  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [1e-7, 1e-10])
def test_a_tiny_objective_does_not_converge_for_its_size_alone(factor: float) -> None:
    def problem(size: float) -> Problem:
        constraint = Constraint(lambda x, w: w @ x - 1, cube(2))
        return Problem(lambda x: size * ((x - 2).square().sum() + x[0] ** 4), constraints=[constraint])

    seen: list[float] = []
    plain = solve(problem(1.0), at(0.1, 0.2))
    tiny = solve(problem(factor), at(0.1, 0.2), callback=lambda record: seen.append(float(record.f)))

    assert tiny.status is Status.CONVERGED
    torch.testing.assert_close(tiny.x, plain.x, rtol=0, atol=1e-5)
    assert tiny.f == pytest.approx(factor * plain.f, rel=1e-6)
    assert float(tiny.multipliers) == pytest.approx(factor * float(plain.multipliers), rel=1e-4)
    assert seen[-1] == pytest.approx(tiny.f)
    assert tiny.history.f.tolist() == pytest.approx(seen)
    resumed = solve(problem(factor), at(0.1, 0.2), state=solve(problem(factor), at(0.1, 0.2), max_steps=2).state)
    assert torch.equal(torch.as_tensor(resumed.x), torch.as_tensor(tiny.x))


def test_a_start_at_the_answer_is_not_taken_for_a_tiny_objective() -> None:
    solution = solve(Problem(lambda x: (x - 2).square().sum()), at(2 + 1e-9, 2.0))
    assert solution.status is Status.CONVERGED
    assert solution.state.scaling.is_plain
