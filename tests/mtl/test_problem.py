"""The oracle against the definition: plain autograd through the network under the worst weights."""

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from idbpd.mtl import (
    CrossEntropy,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    SharedNetwork,
    Task,
    guess_loss,
    same_for_all,
    seeded_network,
    worst_weighting,
)
from idbpd.optim import Solution, solve

LAMBDA, DECAY, THRESHOLD = 0.1, 1e-2, 0.9


@pytest.fixture
def data() -> MultiTaskData:
    features = torch.randn(40, 6, dtype=torch.float64)

    def task(name: str, rows: Tensor, classes: int) -> Task:
        targets = torch.rand(len(rows), classes, dtype=torch.float64)
        labels = tuple(f"{name} {index}" for index in range(classes))
        return Task(name, labels, rows, targets / targets.sum(dim=1, keepdim=True))

    return MultiTaskData(
        features, (task("priority", torch.arange(0, 30), 3), task("constraint", torch.arange(15, 40), 2))
    )


@pytest.fixture
def network(data: MultiTaskData) -> SharedNetwork:
    return seeded_network(6, 5, data.classes, seed=1).double()


def _problem(
    network: SharedNetwork, data: MultiTaskData, threshold: float = THRESHOLD, beyond_limits: float = 0.0
) -> RobustMultiTask:
    return RobustMultiTask(
        network,
        data,
        objective="priority",
        thresholds={"constraint": threshold},
        criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA)),
        weight_decay=DECAY,
        beyond_limits=beyond_limits,
    )


def _flat(network: SharedNetwork) -> Tensor:
    return torch.nn.utils.parameters_to_vector(network.parameters()).detach()


def test_values_and_gradients_are_those_of_the_definition(network: SharedNetwork, data: MultiTaskData) -> None:
    problem, x = _problem(network, data), _flat(network)
    evaluation = problem.evaluate(x, problem.start(x))
    gradients = problem.differentiate(evaluation)

    parameters = {name: p.detach().requires_grad_(True) for name, p in network.named_parameters()}
    logits = functional_call(network, parameters, (data.features,))
    expected = []
    for task, task_logits in zip(data.tasks, logits, strict=True):
        losses = CrossEntropy().values(task_logits[task.rows], task.targets)
        y, value = worst_weighting(losses.detach(), Penalty(LAMBDA))
        rows = torch.autograd.grad(y @ losses, list(parameters.values()), retain_graph=True, materialize_grads=True)
        expected.append((value, torch.cat([row.flatten() for row in rows])))
    (f, gradient_f), (g, gradient_g) = expected

    torch.testing.assert_close(evaluation.f, f + DECAY / 2 * (x**2).sum())
    torch.testing.assert_close(evaluation.g, g[None] - THRESHOLD)
    torch.testing.assert_close(gradients.f, gradient_f + DECAY * x)
    torch.testing.assert_close(gradients.g, gradient_g[None])


def test_beyond_limits_adds_a_share_of_the_constraint_tasks_to_the_objective(
    network: SharedNetwork, data: MultiTaskData
) -> None:
    x = _flat(network)
    plain, shared = _problem(network, data), _problem(network, data, beyond_limits=0.3)
    before, after = plain.evaluate(x, plain.start(x)), shared.evaluate(x, shared.start(x))
    slopes, slopes_after = plain.differentiate(before), shared.differentiate(after)
    criteria = same_for_all(CrossEntropy(), Penalty(LAMBDA))
    # In shares of what a constant guess loses: tasks with losses of different size count the same.
    share = 0.3 * guess_loss(data["priority"], criteria) / guess_loss(data["constraint"], criteria)
    torch.testing.assert_close(after.f, before.f + share * (before.g[0] + THRESHOLD))
    torch.testing.assert_close(slopes_after.f, slopes.f + share * slopes.g[0])
    assert torch.equal(after.g, before.g)
    assert torch.equal(slopes_after.g, slopes.g)


def test_a_limit_with_a_high_price_is_kept_to_the_full(network: SharedNetwork, data: MultiTaskData) -> None:
    """A multiplier above the share falls by it, and the answer stays where it was: the same KKT conditions."""

    def solved(x: Tensor, beyond_limits: float) -> Solution:
        problem = _problem(network, data, threshold=0.66, beyond_limits=beyond_limits)
        return solve(problem, x, tolerance=1e-7, max_steps=2000)

    plain = solved(_flat(network), 0.0)
    assert isinstance(plain.x, Tensor)
    # From near by: there are other local minima.
    shared = solved(plain.x + 1e-3 * torch.randn_like(plain.x), 0.02)
    criteria = same_for_all(CrossEntropy(), Penalty(LAMBDA))
    share = 0.02 * guess_loss(data["priority"], criteria) / guess_loss(data["constraint"], criteria)
    assert plain.multipliers[0] > share
    torch.testing.assert_close(shared.multipliers[0], plain.multipliers[0] - share, rtol=1e-3, atol=0)
    torch.testing.assert_close(shared.x, plain.x, rtol=0, atol=1e-3)


def test_gradients_agree_with_finite_differences(network: SharedNetwork, data: MultiTaskData) -> None:
    problem, x = _problem(network, data), _flat(network)
    start = problem.start(x)
    gradients = problem.differentiate(problem.evaluate(x, start))
    direction, h = torch.randn_like(x), 1e-6
    ahead, behind = problem.evaluate(x + h * direction, start), problem.evaluate(x - h * direction, start)
    torch.testing.assert_close((ahead.f - behind.f) / (2 * h), gradients.f @ direction, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close((ahead.g - behind.g) / (2 * h), gradients.g @ direction, rtol=1e-5, atol=1e-8)


def test_without_thresholds_there_is_no_constraint(network: SharedNetwork, data: MultiTaskData) -> None:
    problem = RobustMultiTask(
        network, data, objective="constraint", thresholds={}, criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA))
    )
    x = _flat(network)
    evaluation = problem.evaluate(x, problem.start(x))
    assert problem.constraint_count == 0
    assert evaluation.g.shape == (0,)
    assert problem.differentiate(evaluation).g.shape == (0, len(x))


def test_values_are_float64_whatever_the_weights_are(network: SharedNetwork, data: MultiTaskData) -> None:
    problem = _problem(network.float(), data.to(torch.device("cpu"), torch.float32))
    x = _flat(network.float())
    evaluation = problem.evaluate(x, problem.start(x))
    assert (evaluation.f.dtype, evaluation.g.dtype) == (torch.float64, torch.float64)
    assert problem.differentiate(evaluation).f.dtype == torch.float32


def test_the_rounding_of_the_losses_is_stated(network: SharedNetwork, data: MultiTaskData) -> None:
    x = _flat(network)
    exact = _problem(network, data).evaluate(x, _problem(network, data).start(x))
    rough_problem = _problem(network.float(), data.to(torch.device("cpu"), torch.float32))
    rough = rough_problem.evaluate(_flat(network.float()), rough_problem.start(x.float()))

    off = torch.cat([(rough.f - exact.f).reshape(1), rough.g - exact.g]).abs()
    assert bool((off <= 8 * rough.error).all())
    assert bool((rough.error <= 1e-6).all())
    assert bool((exact.error <= 1e-15).all())


def test_a_task_cannot_limit_itself(network: SharedNetwork, data: MultiTaskData) -> None:
    with pytest.raises(ValueError, match="'priority' cannot be the objective and a constraint"):
        RobustMultiTask(
            network,
            data,
            objective="priority",
            thresholds={"priority": 1.0},
            criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA)),
        )


def test_an_unknown_task_is_named(network: SharedNetwork, data: MultiTaskData) -> None:
    with pytest.raises(KeyError, match="no task 'third'; tasks are priority, constraint"):
        RobustMultiTask(
            network, data, objective="third", thresholds={}, criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA))
        )


def test_an_empty_task_is_refused() -> None:
    with pytest.raises(ValueError, match="task 'priority' is empty: no sample has a target for a, b"):
        Task("priority", ("a", "b"), torch.zeros(0, dtype=torch.int64), torch.zeros(0, 2))
