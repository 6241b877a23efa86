"""A constraint under weights of the caller's choice, against its definition."""

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
    same_for_all,
    seeded_network,
)

LAMBDA, THRESHOLD = 0.1, 0.9


@pytest.fixture
def data() -> MultiTaskData:
    features = torch.randn(40, 6, dtype=torch.float64)

    def task(name: str, rows: Tensor, classes: int) -> Task:
        targets = torch.rand(len(rows), classes, dtype=torch.float64)
        labels = tuple(f"{name} {index}" for index in range(classes))
        return Task(name, labels, rows, targets / targets.sum(dim=1, keepdim=True))

    return MultiTaskData(features, (task("first", torch.arange(0, 30), 3), task("second", torch.arange(15, 40), 2)))


@pytest.fixture
def network(data: MultiTaskData) -> SharedNetwork:
    return seeded_network(6, 5, data.classes, seed=1).double()


@pytest.mark.parametrize("dense", [False, True])
def test_cuts_are_those_of_the_definition(network: SharedNetwork, data: MultiTaskData, dense: bool) -> None:
    problem = RobustMultiTask(
        network,
        data,
        objective="first",
        thresholds={"second": THRESHOLD},
        criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA)),
        weight_decay=0.5,  # of the objective alone
        dense=dense,
    )
    x = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
    evaluation = problem.evaluate(x, problem.start(x))
    worst = evaluation.maximisers.w[0]
    assert worst is not None
    points = torch.stack([worst, torch.full((25,), 1 / 25, dtype=torch.float64), torch.rand(25).double().softmax(0)])
    factors = torch.tensor([0.5, 0.0, 2.0], dtype=torch.float64)

    parameters = {name: p.detach().requires_grad_(True) for name, p in network.named_parameters()}
    losses = CrossEntropy().values(
        functional_call(network, parameters, (data.features,))[1][15:], data["second"].targets
    )
    expected = points @ losses - LAMBDA * 25 / 2 * (points - 1 / 25).square().sum(dim=1) - THRESHOLD
    rows = torch.autograd.grad(factors @ expected, list(parameters.values()), materialize_grads=True)

    values = problem.cut_values(evaluation, 0, points)
    torch.testing.assert_close(values, expected.detach())
    torch.testing.assert_close(values[0], evaluation.g[0])  # at the worst weights it is the constraint itself
    assert (values <= values[0]).all()
    gradient = torch.cat([row.flatten() for row in rows])
    torch.testing.assert_close(problem.cut_gradient(evaluation, 0, points, factors), gradient)
    # Another point in between: the cuts still belong to the evaluation that was asked about.
    problem.evaluate(2 * x, problem.start(x))
    torch.testing.assert_close(problem.cut_values(evaluation, 0, points), expected.detach())
    torch.testing.assert_close(problem.cut_gradient(evaluation, 0, points, factors), gradient)
