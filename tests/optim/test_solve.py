"""The contract of `solve`: shapes in and out, records, callbacks, the choice of the iterate, and what it refuses."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from idbpd.optim import IDBPD, Constraint, Problem, Record, Status, solve
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from idbpd.optim.sets import Ball, Box, Simplex

DISC = Constraint(lambda x: 0.5 * x @ x - 0.5)
PROBLEM = Problem(lambda x: 0.5 * (x - torch.tensor([2.0, 1.0], dtype=x.dtype)).square().sum(), constraints=[DISC])


def test_dict_of_tensors_keeps_its_structure() -> None:
    def objective(x: dict[str, Tensor]) -> Tensor:
        return (x["matrix"] - 1).square().sum() + (x["scalar"] + 2) ** 2

    constraint = Constraint(lambda x: x["matrix"].sum() - 3)
    start = {"matrix": torch.zeros(2, 2, dtype=torch.float64), "scalar": torch.zeros((), dtype=torch.float64)}

    solution = solve(Problem(objective, constraints=[constraint]), start)

    assert isinstance(solution.x, dict)
    assert list(solution.x) == ["matrix", "scalar"]
    torch.testing.assert_close(solution.x["matrix"], torch.full((2, 2), 0.75, dtype=torch.float64), atol=1e-5, rtol=0)
    torch.testing.assert_close(solution.x["scalar"], torch.tensor(-2.0, dtype=torch.float64), atol=1e-5, rtol=0)
    assert bool((start["matrix"] == 0).all())  # the start is not touched


def test_matrix_of_variables() -> None:
    solution = solve(Problem(lambda x: (x - 3).square().sum()), torch.zeros(2, 3))

    assert isinstance(solution.x, Tensor)
    assert solution.x.shape == (2, 3)
    assert solution.x.dtype == torch.float32


def test_module_with_parameters_that_require_gradients() -> None:
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 1).double()
    points = torch.randn(20, 3, dtype=torch.float64)
    targets = points.sum(1)
    problem = Problem(
        lambda x, y: y @ (functional_call(net, x, (points,)).squeeze(1) - targets) ** 2 - 5 * (y - 0.05).square().sum(),
        Simplex(20),
        [Constraint(lambda x: x["weight"].square().sum() - 1)],
    )

    solution = solve(problem, dict(net.named_parameters()))

    assert solution.status is Status.CONVERGED
    assert isinstance(solution.x, dict)
    assert not solution.x["weight"].requires_grad
    assert float(solution.x["weight"].square().sum()) == pytest.approx(1, abs=1e-5)
    assert float(solution.multipliers) > 0


def test_records_and_history_agree() -> None:
    records: list[Record] = []

    solution = solve(PROBLEM, torch.zeros(2), tolerance=1e-4, callback=records.append)

    assert [record.step for record in records] == list(range(solution.steps + 1))
    assert len(solution.history.f) == len(records)
    for i, record in enumerate(records):
        assert float(record.f) == float(solution.history.f[i])
        assert float(record.kkt.worst) == float(solution.history.worst[i])
        assert record.evaluations == int(solution.history.evaluations[i])
        assert record.g.shape == record.multipliers.shape == (1,)
    assert solution.evaluations >= records[-1].evaluations


def test_callback_ends_the_run() -> None:
    solution = solve(PROBLEM, torch.tensor([3.0, -4.0]), callback=lambda record: record.step == 2)

    assert solution.steps == 2
    assert solution.status is Status.MAX_STEPS
    assert "callback" in solution.reason


def test_no_steps_at_all() -> None:
    solution = solve(PROBLEM, torch.tensor([3.0, -4.0]), max_steps=0)

    assert solution.steps == 0
    assert solution.status is Status.MAX_STEPS
    torch.testing.assert_close(solution.x, torch.tensor([3.0, -4.0]))


def test_start_at_the_answer_takes_no_step() -> None:
    answer = torch.tensor([2.0, 1.0], dtype=torch.float64) / math.sqrt(5)

    solution = solve(PROBLEM, answer)

    assert solution.status is Status.CONVERGED
    assert solution.steps == 0
    assert solution.evaluations == 1


@pytest.mark.parametrize("steps", range(6))
def test_unfinished_run_returns_the_best_feasible_or_the_least_infeasible_iterate(steps: int) -> None:
    solution = solve(PROBLEM, torch.tensor([3.0, -4.0], dtype=torch.float64), max_steps=steps, tolerance=1e-9)

    history = solution.history
    feasible = history.infeasibility <= 1e-9
    if bool(feasible.any()):
        assert solution.f == pytest.approx(float(history.f[feasible].min()))
    else:
        assert solution.kkt.infeasibility == pytest.approx(float(history.infeasibility.min()))


def test_certificate_is_that_of_the_returned_point() -> None:
    solution = solve(PROBLEM, torch.tensor([3.0, -4.0], dtype=torch.float64), max_steps=3)

    x = torch.as_tensor(solution.x)
    g = 0.5 * float(x @ x) - 0.5
    lam = float(solution.multipliers)
    gradient = x - torch.tensor([2.0, 1.0], dtype=torch.float64) + lam * x
    assert solution.kkt.stationarity == pytest.approx(float(gradient.norm()))
    assert solution.kkt.infeasibility == pytest.approx(max(g, 0.0))
    assert solution.kkt.slackness == pytest.approx(abs(lam * g))
    assert solution.kkt.worst == max(solution.kkt)


class Quadratic:
    """An oracle of its own: min 1/2 ||x - 1||^2 with sum x <= 1."""

    constraint_count = 1

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, (None,))

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        y = x.to(torch.float64)
        return Evaluation(x, 0.5 * (y - 1).square().sum(), (y.sum() - 1).reshape(1), warm, y.new_zeros(2))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        return Gradients(evaluation.x - 1, torch.ones_like(evaluation.x).unsqueeze(0))


@pytest.mark.parametrize("method", [IDBPD(), IDBPD(metric="identity")])
def test_an_oracle_in_place_of_a_problem(method: IDBPD) -> None:
    solution = solve(Quadratic(), torch.zeros(4, dtype=torch.float64), method)

    assert solution.status is Status.CONVERGED
    torch.testing.assert_close(solution.x, torch.full((4,), 0.25, dtype=torch.float64), rtol=0, atol=1e-5)
    assert float(solution.multipliers) == pytest.approx(0.75, abs=1e-4)


def test_sets_follow_the_dtype_of_the_start() -> None:
    box = Box(-torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    ball = Ball(torch.zeros(2, dtype=torch.float64), 1.0)
    problem = Problem(lambda x, y: x @ x + y @ x - y @ y, box, [Constraint(lambda x, w: w @ x - w @ w - 1, ball)])

    solution = solve(problem, torch.ones(2, dtype=torch.float32), tolerance=1e-4)

    assert solution.status is Status.CONVERGED
    assert solution.y is not None
    assert solution.y.dtype == torch.float32


def _constant(x: Tensor) -> Tensor:
    return torch.tensor(1.0)


def _number(x: Tensor) -> float:
    return 1.0


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: solve(PROBLEM, [0.0, 0.0]), TypeError, "x0 must be a tensor or a dict of named tensors, got list"),  # type: ignore[arg-type]
    (lambda: solve(PROBLEM, torch.zeros(2, dtype=torch.int64)), TypeError, "x0 has dtype torch.int64"),
    (lambda: solve(PROBLEM, torch.tensor([math.nan, 0.0])), ValueError, "x0 has 1 entries that are not finite"),
    (lambda: solve(PROBLEM, torch.zeros(0)), ValueError, "x0 has no element"),
    (lambda: solve(PROBLEM, {}), ValueError, "x0 has no element"),
    (
        lambda: solve(PROBLEM, {"a": torch.zeros(1), "b": torch.zeros(1, dtype=torch.float64)}),
        ValueError,
        r"share one dtype and one device, got x0\['a'\]: torch.float32 on cpu, x0\['b'\]: torch.float64 on cpu",
    ),
    (lambda: solve(PROBLEM, {"a": 1.0}), TypeError, r"x0\['a'\] must be a tensor, got float"),  # type: ignore[dict-item]
    (
        lambda: solve(PROBLEM, torch.zeros(2), max_steps=-1),
        ValueError,
        "max_steps must be a non-negative integer, got -1",
    ),
    (
        lambda: solve(PROBLEM, torch.zeros(2), tolerance=0.0),
        ValueError,
        "tolerance must be positive and finite, got 0.0",
    ),
    (lambda: solve(PROBLEM, torch.zeros(2), tolerance=math.nan), ValueError, "tolerance must be positive and finite"),
    (lambda: solve(Problem(lambda x: x), torch.zeros(2)), ValueError, r"objective must return .* got shape \(2,\)"),
    (lambda: solve(Problem(_number), torch.zeros(2)), TypeError, "objective must return a tensor .* got float"),  # type: ignore[arg-type]
    (lambda: solve(Problem(_constant), torch.zeros(2)), ValueError, "objective does not depend on x"),
    (
        lambda: solve(Problem(lambda x: x.sum(), constraints=[Constraint(_constant)]), torch.zeros(2)),
        ValueError,
        r"constraints\[0\].psi does not depend on x",
    ),
    (lambda: Problem(3), TypeError, "objective must be a function, got int"),  # type: ignore[arg-type]
    (lambda: Problem(_constant, over=3), TypeError, "over must be a set such as Simplex.* got int"),  # type: ignore[arg-type]
    (
        lambda: Problem(_constant, constraints=DISC),  # type: ignore[arg-type]
        TypeError,
        "constraints must be a sequence, got a single Constraint",
    ),
    (lambda: Problem(_constant, constraints=[_constant]), TypeError, r"constraints\[0\] must be a Constraint"),  # type: ignore[list-item]
    (lambda: Constraint("psi"), TypeError, "psi must be a function, got str"),  # type: ignore[arg-type]
    (
        lambda: Problem(lambda x, y: x @ y),
        TypeError,
        r"objective without a set \(over=None\) is called with \(x\), but takes \(x, y\)",
    ),
    (
        lambda: Constraint(_constant, over=Simplex(2)),
        TypeError,
        r"psi over Simplex is called with \(x, a point of the set\), but takes \(x: .*Tensor\)",
    ),
    (lambda: Problem(_constant, over=Simplex(0)), ValueError, "Simplex"),
    (lambda: Problem(_constant, over=Box(1.0, -1.0)), ValueError, "Box"),
]


@pytest.mark.parametrize(
    ("call", "error", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_refusals_say_what_is_wrong(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
