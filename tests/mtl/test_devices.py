"""Readiness for accelerators, tested without one.

Under `FakeTensorMode` a tensor has a shape, a type and a device, but no numbers: an operation on tensors of two devices
fails, and so does whatever needs a number, such as ``.item()``, an ``if`` on a tensor, or ``nonzero``.
"""

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)

from idbpd.mtl import CrossEntropy, MultiTaskData, Penalty, RobustMultiTask, Task, same_for_all, seeded_network
from idbpd.mtl.problem import passes_of
from tests.mtl.test_passes import TwoLayers

DEVICE = torch.device("meta")  # an accelerator to all that this project asks, and there on every machine
SAMPLES, FEATURES = 40, 6


def _data(device: torch.device = DEVICE) -> MultiTaskData:
    """Shapes only; one task sees part of the samples, as real ones do."""

    def task(name: str, count: int, classes: int) -> Task:
        rows = torch.arange(count, device=device)
        return Task(name, tuple(map(str, range(classes))), rows, torch.ones(count, classes, device=device))

    return MultiTaskData(torch.ones(SAMPLES, FEATURES, device=device), (task("p", 30, 3), task("c", SAMPLES, 2)))


def _network(kind: str) -> nn.Module:
    return seeded_network(FEATURES, 5, (3, 2), seed=0) if kind == "tanh" else TwoLayers(FEATURES, (3, 2))


def _step(problem: RobustMultiTask, x: Tensor) -> list[Tensor]:
    """All that the oracle computes at a point."""
    evaluation = problem.evaluate(x, problem.start(x))
    gradients = problem.differentiate(evaluation)
    points = [evaluation.maximisers.y, *evaluation.maximisers.w]
    return [
        evaluation.f,
        evaluation.g,
        evaluation.error,
        gradients.f,
        gradients.g,
        *(p for p in points if p is not None),
    ]


def _problem(kind: str, dense: bool | None = None) -> tuple[RobustMultiTask, int]:
    network = _network(kind)  # its structure alone counts: the weights come with the point
    problem = RobustMultiTask(
        network,
        _data(),
        objective="p",
        thresholds={"c": 1.0},
        criteria=same_for_all(CrossEntropy(), Penalty(0.1)),
        weight_decay=1e-3,
        dense=dense,
    )
    return problem, sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("kind", ["tanh", "module"])
def test_a_step_needs_no_number_and_stays_on_its_device(kind: str) -> None:
    with FakeTensorMode(allow_non_fake_inputs=False):
        problem, count = _problem(kind)
        for tensor in _step(problem, torch.zeros(count, device=DEVICE)):
            assert isinstance(tensor, FakeTensor)
            assert tensor.device == DEVICE


@pytest.mark.parametrize("kind", ["tanh", "module"])
def test_the_solver_may_stay_on_the_host(kind: str) -> None:
    """As on devices without float64: the network computes there, the point and the values are here."""
    with FakeTensorMode(allow_non_fake_inputs=False):
        problem, count = _problem(kind)
        for tensor in _step(problem, torch.zeros(count)):
            assert tensor.device == torch.device("cpu")


def test_gradients_over_the_support_alone_would_wait() -> None:
    """That the test above can fail: which samples have weight is a number."""
    with FakeTensorMode(allow_non_fake_inputs=False):
        problem, count = _problem("tanh", dense=False)
        with pytest.raises((DynamicOutputShapeException, DataDependentOutputException)):
            _step(problem, torch.zeros(count, device=DEVICE))


def test_a_tensor_on_another_device_would_be_noticed() -> None:
    with FakeTensorMode(allow_non_fake_inputs=False):
        data, network = _data(), _network("tanh")
        passes = passes_of(network, data, data.tasks)
        with pytest.raises(RuntimeError, match="device"):
            passes.forward(torch.zeros(sum(parameter.numel() for parameter in network.parameters())))


def test_one_transfer_moves_the_data() -> None:
    data = _data(torch.device("cpu"))
    same = data.to(torch.device("cpu"), torch.float32)
    assert same.features is data.features  # nothing is copied that is where it should be
    with FakeTensorMode(allow_non_fake_inputs=True):
        moved = data.to(DEVICE, torch.float32)
        assert {moved.features.device, *(task.targets.device for task in moved.tasks)} == {DEVICE}
