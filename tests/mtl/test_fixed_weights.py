import pytest
import torch

from idbpd.mtl import CrossEntropy, FixedWeights, MultiTaskData, Penalty, Task, same_for_all, seeded_network
from idbpd.optim import IDBPD, Status, solve


def _data() -> MultiTaskData:
    features = torch.randn(12, 5, dtype=torch.float64)
    first = Task("first", ("a", "b", "c"), torch.arange(8), torch.eye(3, dtype=torch.float64)[torch.arange(8) % 3])
    second = Task("second", ("d", "e"), torch.arange(4, 12), torch.full((8, 2), 0.5, dtype=torch.float64))
    return MultiTaskData(features, (first, second))


@pytest.mark.parametrize(
    "weights", [{"first": 1.0, "second": 1.0}, {"first": 0.25, "second": 3.0}, {"first": 0.0, "second": 2.0}]
)
def test_value_and_gradient_are_those_of_autograd(weights: dict[str, float]) -> None:
    data = _data()
    network = seeded_network(5, 4, data.classes, seed=0).double()
    oracle = FixedWeights(network, data, same_for_all(CrossEntropy(), Penalty(0.1)), weights, weight_decay=0.3)
    x = torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
    expected = sum(
        weights[task.name] * CrossEntropy().values(logits[task.rows], task.targets).mean()
        for task, logits in zip(data.tasks, network(data.features), strict=True)
    ) + 0.15 * sum(parameter.square().sum() for parameter in network.parameters())
    assert isinstance(expected, torch.Tensor)
    expected.backward()  # type: ignore[no-untyped-call]
    evaluation = oracle.evaluate(x, oracle.start(x))
    torch.testing.assert_close(evaluation.f, expected.detach())
    gradient = torch.cat([parameter.grad.flatten() for parameter in network.parameters() if parameter.grad is not None])
    torch.testing.assert_close(oracle.differentiate(evaluation).f, gradient)
    # Asked again after another point was looked at, the answer is the same.
    oracle.evaluate(2 * x, oracle.start(x))
    torch.testing.assert_close(oracle.differentiate(evaluation).f, gradient)


def test_the_same_solver_minimises_it() -> None:
    data = _data()
    network = seeded_network(5, 4, data.classes, seed=0).double()
    start = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    solution = solve(
        FixedWeights(
            network,
            data,
            same_for_all(CrossEntropy(), Penalty(0.1)),
            {"first": 1.0, "second": 1.0},
            weight_decay=0.1,
        ),
        start,
        IDBPD(),
        max_steps=300,
        tolerance=1e-6,
    )
    assert solution.status is Status.CONVERGED
    assert solution.kkt.infeasibility == solution.kkt.slackness == 0


def test_a_task_of_weight_zero_is_not_passed() -> None:
    """Its rows have features that no network can pass; a task that took part in the passes would show it."""
    data = _data()
    data.table[8:] = float("nan")  # seen by the second task alone
    network = seeded_network(5, 4, data.classes, seed=0).double()
    x = torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
    for weights, finite in (({"first": 1.0}, True), ({"first": 1.0, "second": 0.0}, True), ({"second": 1.0}, False)):
        oracle = FixedWeights(network, data, same_for_all(CrossEntropy(), Penalty(0.1)), weights, weight_decay=0.1)
        evaluation = oracle.evaluate(x, oracle.start(x))
        assert bool(evaluation.f.isfinite()) == finite
        assert bool(oracle.differentiate(evaluation).f.isfinite().all()) == finite


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"first": -1.0}, "the weight of task 'first' is -1.0; it must be at least 0 and finite"),
        ({"first": float("nan")}, "the weight of task 'first' is nan"),
        ({"first": 0.0}, "all weights are zero"),
        ({"third": 1.0}, "no task 'third'; tasks are first, second"),
    ],
)
def test_weights_without_meaning_are_refused(weights: dict[str, float], message: str) -> None:
    data = _data()
    network = seeded_network(5, 4, data.classes, seed=0).double()
    with pytest.raises((ValueError, KeyError), match=message):
        FixedWeights(network, data, same_for_all(CrossEntropy(), Penalty(0.1)), weights, weight_decay=0.1)
