"""Every way through a network against the definition: plain autograd, task by task, through all samples."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl import (
    CrossEntropy,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    Task,
    same_for_all,
    seeded_network,
    worst_weighting,
)
from idbpd.mtl.tanh_passes import TanhPasses

LAMBDA, DECAY = 0.05, 1e-2
SAMPLES, FEATURES = 60, 7


class TwoLayers(nn.Module):
    """Not the default network: the tasks' heads have a layer of their own."""

    def __init__(self, features: int, classes: tuple[int, ...]) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(features, 6), nn.SiLU(), nn.Linear(6, 5))
        self.heads = nn.ModuleList(nn.Sequential(nn.Tanh(), nn.Linear(5, count)) for count in classes)
        self.rows_passed = 0

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        self.rows_passed += len(features)
        shared = self.shared(features)
        return tuple(head(shared) for head in self.heads)


def _task(name: str, rows: Tensor, classes: int) -> Task:
    targets = torch.rand(len(rows), classes, dtype=torch.float64)
    targets[0] = 0  # a sample that was kept without a label
    return Task(
        name,
        tuple(f"{name}{at}" for at in range(classes)),
        rows,
        targets / targets.sum(dim=1, keepdim=True).clamp(min=1e-9),
    )


def _data(density: float = 1.0, seen: int = SAMPLES) -> MultiTaskData:
    """Three overlapping tasks that together see the first ``seen`` samples, in no order."""
    features = torch.randn(SAMPLES, FEATURES, dtype=torch.float64)
    features *= torch.rand(SAMPLES, FEATURES) < density
    rows = torch.randperm(seen)
    tasks = (
        _task("first", rows[: seen // 2], 3),
        _task("second", rows[seen // 4 :], 2),
        _task("third", rows[:: 3], 4),
    )  # fmt: skip
    return MultiTaskData(features, tasks)


def _network(kind: str, data: MultiTaskData) -> nn.Module:
    if kind == "tanh":
        return seeded_network(FEATURES, 5, data.classes, seed=1).double()
    return TwoLayers(FEATURES, data.classes).double()


def _problem(network: nn.Module, data: MultiTaskData, dense: bool | None = None) -> RobustMultiTask:
    thresholds = {"second": 0.5, "third": 0.7}
    return RobustMultiTask(
        network,
        data,
        objective="first",
        thresholds=thresholds,
        criteria=same_for_all(CrossEntropy(), Penalty(LAMBDA)),
        weight_decay=DECAY,
        dense=dense,
    )


def _flat(network: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def _by_definition(network: nn.Module, data: MultiTaskData) -> tuple[Tensor, Tensor]:
    """Worst-case values and their gradients, one row per task."""
    parameters = {name: p.detach().requires_grad_(True) for name, p in network.named_parameters()}
    logits = functional_call(network, parameters, (data.features,))
    values, gradients = [], []
    for task, task_logits in zip(data.tasks, logits, strict=True):
        losses = CrossEntropy().values(task_logits[task.rows], task.targets)
        weights, value = worst_weighting(losses.detach(), Penalty(LAMBDA))
        rows = torch.autograd.grad(
            weights @ losses, list(parameters.values()), retain_graph=True, materialize_grads=True
        )
        values.append(value)
        gradients.append(torch.cat([row.flatten() for row in rows]))
    return torch.stack(values), torch.stack(gradients)


@pytest.mark.parametrize("kind", ["tanh", "module"])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("density", "seen"), [(1.0, SAMPLES), (1.0, 20), (0.03, SAMPLES), (0.03, 20)])
def test_values_and_gradients_are_those_of_the_definition(kind: str, dense: bool, density: float, seen: int) -> None:
    data = _data(density, seen)
    network = _network(kind, data)
    problem, x = _problem(network, data, dense=dense), _flat(network)
    evaluation = problem.evaluate(x, problem.start(x))
    gradients = problem.differentiate(evaluation)
    values, expected = _by_definition(network, data)
    torch.testing.assert_close(evaluation.f, values[0] + DECAY / 2 * x @ x)
    torch.testing.assert_close(evaluation.g, values[1:] - torch.tensor([0.5, 0.7], dtype=torch.float64))
    torch.testing.assert_close(gradients.f, expected[0] + DECAY * x)
    torch.testing.assert_close(gradients.g, expected[1:])


@pytest.mark.parametrize("regularisation", [1e-6, 1e3], ids=["one sample has all weight", "all samples have weight"])
@pytest.mark.parametrize("kind", ["tanh", "module"])
def test_supports_of_every_size_give_the_dense_gradients(kind: str, regularisation: float) -> None:
    data = _data()
    network = _network(kind, data)
    x, gradients = _flat(network), []
    for dense in (True, False):
        problem = RobustMultiTask(
            network,
            data,
            objective="third",
            thresholds={"first": 1.0},
            criteria=same_for_all(CrossEntropy(), Penalty(regularisation)),
            dense=dense,
        )
        found = problem.differentiate(problem.evaluate(x, problem.start(x)))
        gradients.append(torch.cat([found.f[None], found.g]))
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("kind", ["tanh", "module"])
def test_small_blocks_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data()
    network = _network(kind, data)
    x, found = _flat(network), []
    for rows in (1000, 7):
        monkeypatch.setattr("idbpd.mtl.feature_products.FEWEST_ROWS", 1)
        monkeypatch.setattr("idbpd.mtl.feature_products.BLOCK", rows * 15)
        monkeypatch.setattr("idbpd.mtl.module_passes.ROWS_AT_A_TIME", rows)
        problem = _problem(network, data)
        evaluation = problem.evaluate(x, problem.start(x))
        gradients = problem.differentiate(evaluation)
        found.append((evaluation.f, evaluation.g, gradients.f, gradients.g))
    torch.testing.assert_close(found[0], found[1])


def test_a_gradient_at_the_evaluated_point_passes_only_the_samples_with_weight_again() -> None:
    data = _data()
    network = TwoLayers(FEATURES, data.classes).double()
    problem, x = _problem(network, data), _flat(network)
    evaluation = problem.evaluate(x, problem.start(x))
    assert network.rows_passed == SAMPLES  # each sample once, however many tasks see it
    problem.differentiate(evaluation)
    weighted = torch.zeros(SAMPLES, dtype=torch.bool)
    weights = [evaluation.maximisers.y, *evaluation.maximisers.w]
    for task, task_weights in zip(data.tasks, weights, strict=True):
        assert task_weights is not None
        weighted[task.rows[task_weights > 0]] = True
    assert network.rows_passed == SAMPLES + int(weighted.sum()) < 2 * SAMPLES


def test_the_default_network_passes_its_first_layer_once_per_point(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data()
    network = _network("tanh", data)
    problem, x = _problem(network, data), _flat(network)
    calls = []
    forward = TanhPasses.forward

    def counted(passes: TanhPasses, at: Tensor) -> tuple[Tensor, ...]:
        calls.append(at)
        return forward(passes, at)

    monkeypatch.setattr(TanhPasses, "forward", counted)
    first = problem.evaluate(x, problem.start(x))
    problem.differentiate(first)
    assert len(calls) == 1
    problem.evaluate(x + 1, problem.start(x))
    problem.differentiate(first)  # of an earlier point: there is nothing left of its forward pass
    assert len(calls) == 3


def test_gradients_may_be_asked_under_any_weights() -> None:
    """What a discretisation does: the weights are a cut of an earlier point."""
    data = _data()
    network = _network("tanh", data)
    problem, x = _problem(network, data), _flat(network)
    evaluation = problem.evaluate(x, problem.start(x))
    uniform = problem.differentiate(evaluation._replace(maximisers=problem.start(x)))
    h, direction = 1e-6, torch.randn_like(x)
    ahead, behind = problem.losses(x + h * direction), problem.losses(x - h * direction)
    torch.testing.assert_close(
        uniform.g[0] @ direction, (ahead[1].mean() - behind[1].mean()) / (2 * h), rtol=1e-5, atol=1e-8
    )


def test_features_of_another_type_are_converted_on_the_way() -> None:
    """A certificate in float64 needs no second copy of the data."""
    data = _data()
    single = MultiTaskData(data.table.float(), data.tasks)
    double = MultiTaskData(single.table.double(), data.tasks)
    for kind in ("tanh", "module"):
        network = _network(kind, data)
        x = _flat(network)
        values = [_problem(network, part).evaluate(x, _problem(network, part).start(x)).f for part in (single, double)]
        torch.testing.assert_close(values[0], values[1])
