"""How often the default method waits for the device: once for each evaluation, and once more to look at the worst case
of a refused trial.
"""

from collections.abc import Sequence
from typing import Literal

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Problem, Record, Solution, Status, solve
from idbpd.optim.kinks.bundle import Bundle, RefusedTrial
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, TermOracle
from tests.optim.accelerator import Accelerator, Remote
from tests.optim.bank import CASES, KINKS, PUBLISHED, Case, Closed, Kink
from tests.optim.bank.case import closed


class RemoteOracle:
    """A case in closed form whose values and gradients are computed on the accelerator."""

    def __init__(self, case: Case) -> None:
        self._functions: list[Closed] = [case.f, *case.g]

    @property
    def constraint_count(self) -> int:
        return len(self._functions) - 1

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, (None,) * self.constraint_count)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        assert isinstance(x, Remote)
        values = torch.stack([function(x.numbers).detach().reshape(()) for function in self._functions]).double()
        return Evaluation(x, Remote(values[0]), Remote(values[1:]), warm, Remote(torch.zeros_like(values)))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        assert isinstance(evaluation.x, Remote)
        x = evaluation.x.numbers.detach().requires_grad_()
        rows = torch.stack([torch.autograd.grad(function(x), x)[0] for function in self._functions])
        return Gradients(Remote(rows[0]), Remote(rows[1:]))


def run(
    case: Case, start: Sequence[float], method: IDBPD, max_steps: int = 200
) -> tuple[Solution, list[tuple[int, int]]]:
    """A run on the accelerator, and how many crossings and evaluations there had been after each step."""
    counts: list[tuple[int, int]] = []

    def count(record: Record) -> None:
        counts.append((accelerator.crossings, record.evaluations))

    with Accelerator() as accelerator:
        x0 = Remote(torch.tensor(start, dtype=torch.float64))
        solution = solve(RemoteOracle(case), x0, method, max_steps=max_steps, callback=count)
    return solution, counts


SAMPLE = [case for case in CASES if len(case.g) <= 1][::12] + [case for case in CASES if len(case.g) > 1][::8]


@pytest.mark.parametrize("metric", ["quasi-newton", "identity"])
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_one_wait_per_evaluation(case: Case, metric: Literal["quasi-newton", "identity"]) -> None:
    # The identity metric takes long to converge; ten steps tell as much.
    solution, counts = run(case, case.starts[0], IDBPD(metric=metric), 200 if metric == "quasi-newton" else 10)

    (first_crossings, first_evaluations), (crossings, evaluations) = counts[0], counts[-1]
    assert len(counts) > 1
    assert crossings - first_crossings <= evaluations - first_evaluations
    # Checking the start and reading its numbers; then, at the end, the certificate.
    assert first_crossings <= 2
    assert solution.status is Status.CONVERGED or metric == "identity"


def has_quadratics(case: Case) -> bool:
    """Whether its inner functions are quadratics over sets, and the model keeps one row per term."""
    sets = [case.problem.over, *(constraint.over for constraint in case.problem.constraints)]
    return any(over is not None for over in sets) and case.name not in ("adversarial_logistic", "dro_both_10_0.1")


QUADRATIC = [case for case in CASES if has_quadratics(case)]
# How often a run looks at the worst case of a refused trial; each look waits once. The others never look.
LOOKS = {"dro_both_8_0.02": 1, "nonconvex_robust": 1}


class Looks:
    """Counts the looks at refused trials."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        grown = Bundle.grown

        def counted(bundle: Bundle, oracle: TermOracle, x: Tensor, trial: RefusedTrial) -> Bundle | None:
            self.count += 1
            return grown(bundle, oracle, x, trial)

        monkeypatch.setattr(Bundle, "grown", counted)


@pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, torch.float64) for case in (*PUBLISHED, *QUADRATIC[6::8])]
    + [(case, torch.float32) for case in PUBLISHED[::2]],
    ids=lambda one: one.name if isinstance(one, Case) else str(one),
)
def test_one_wait_per_evaluation_where_worst_cases_are_found_by_autograd(
    case: Case, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[tuple[int, int]] = []
    looks = Looks(monkeypatch)
    start, tolerance = torch.tensor(case.starts[0], dtype=dtype), 1e-6 if dtype == torch.float64 else 1e-4
    with Accelerator() as accelerator:
        there = solve(
            case.problem,
            Remote(start),
            tolerance=tolerance,
            callback=lambda record: counts.append((accelerator.crossings, record.evaluations)),
        )
    assert looks.count == LOOKS.get(case.name, 0)
    here = solve(case.problem, start, tolerance=tolerance)

    (first_crossings, first_evaluations), (crossings, evaluations) = counts[0], counts[-1]
    assert there.status is Status.CONVERGED
    assert first_crossings <= 2
    assert crossings - first_crossings <= evaluations - first_evaluations + LOOKS.get(case.name, 0)
    assert isinstance(there.x, Remote)
    torch.testing.assert_close(there.x.numbers, torch.as_tensor(here.x), rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("name", ["adversarial_logistic", "chebyshev", "diamond"])
def test_other_worst_cases_are_found_on_the_accelerator_too(name: str) -> None:
    cases: list[Case | Kink] = [*CASES, *KINKS]
    problem, start = next((case.problem, case.starts[0]) for case in cases if case.name == name)
    with Accelerator():
        there = solve(problem, Remote(torch.tensor(start, dtype=torch.float64)))
    here = solve(problem, torch.tensor(start, dtype=torch.float64))

    assert there.status is Status.CONVERGED
    assert isinstance(there.x, Remote)
    torch.testing.assert_close(there.x.numbers, torch.as_tensor(here.x), rtol=1e-5, atol=1e-5)


def test_looking_ahead_changes_the_number_of_evaluations_only() -> None:
    case = next(case for case in CASES if case.name == "nonconvex")
    for start in case.starts:
        there, _ = run(case, start, IDBPD())
        here = solve(Problem(case.f, constraints=[Constraint(g) for g in case.g]), torch.tensor(start).double())

        assert isinstance(there.x, Remote)
        torch.testing.assert_close(there.x.numbers, torch.as_tensor(here.x), rtol=1e-6, atol=1e-7)
        assert there.steps == here.steps
        assert there.gradients == here.gradients
        assert here.evaluations <= there.evaluations <= here.evaluations + 3


@pytest.mark.parametrize("constraints", [1, 2, 3])
def test_a_step_of_the_papers_method_does_not_wait(constraints: int) -> None:
    planes: list[Closed] = [lambda x: 1 - x[0], lambda x: 1 - x[1], lambda x: 1 - x[2]]
    case = closed("planes", lambda x: x @ x, planes[:constraints], [[0.0] * 3])
    oracle, method = RemoteOracle(case), IDBPD.paper()
    with Accelerator() as accelerator:
        state = method.init(oracle, Remote(torch.zeros(3, dtype=torch.float64)))
        for _ in range(3):
            state = method.step(oracle, state, 1e-6)
            method.iterate(state)
        assert accelerator.crossings == 0
        assert state.multipliers.cpu().numpy().all()


def test_an_infeasible_constraint_takes_one_wait_per_evaluation() -> None:
    case = closed("apart", lambda x: x @ x, [lambda x: x[0] + 1, lambda x: 1 - x[0]], [[2.0, 1.0]])

    solution, counts = run(case, case.starts[0], IDBPD())

    assert solution.status is Status.INFEASIBLE
    assert counts[-1][0] - counts[0][0] <= counts[-1][1] - counts[0][1]


def test_the_accelerator_notices_what_a_device_would_not_do() -> None:
    with Accelerator() as accelerator:
        x = Remote(torch.tensor([1.0, 2.0]))
        assert float(x.sum()) == 3
        assert accelerator.crossings == 1
        assert (2 * x).cpu().tolist() == [2, 4]
        assert accelerator.crossings == 2
        assert (x + torch.ones(2, device=x.device)).device == x.device
        with pytest.raises(RuntimeError, match="of the host and of the accelerator"):
            x + torch.ones(2)
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
            x.tolist()
