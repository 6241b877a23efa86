"""The metric by layers against explicit matrices, and what it is worth on a badly conditioned problem."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from idbpd.mtl import MultiTaskData, Penalty, RobustMultiTask, Squared, Task, same_for_all, seeded_network
from idbpd.mtl.fixed_weights import FixedWeights
from idbpd.mtl.layer_curvature import INSIDE, OF_FEATURES, LayerCurvature
from idbpd.mtl.layer_moments import spread_of
from idbpd.mtl.losses import CrossEntropy
from idbpd.mtl.worst_cases import Mean
from idbpd.optim import IDBPD, Solution, Status, load_state, save_state, solve
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric
from idbpd.optim.oracle import PreconditionedOracle


class Convolved(nn.Module):
    """A convolution over pictures of 4 x 4, and a head per task."""

    def __init__(self, classes: tuple[int, ...]) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 3, 2, stride=2, padding=1)
        self.heads = nn.ModuleList(nn.Linear(27, count) for count in classes)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        hidden = torch.tanh(self.first(features.view(-1, 1, 4, 4))).flatten(1)
        return tuple(head(hidden) for head in self.heads)


def regression(samples: int = 200, inputs: int = 16) -> MultiTaskData:
    """Two numbers that depend on features whose sizes differ by a factor of thirty."""
    standard = torch.randn(samples, inputs, dtype=torch.float64)
    noise = 0.1 * torch.randn(samples, 2, dtype=torch.float64)
    targets = torch.tanh(standard @ torch.randn(inputs, 2, dtype=torch.float64) / 4) + noise
    targets = (targets - targets.mean(dim=0)) / targets.std(dim=0)
    features, rows = standard * torch.logspace(-1.5, 0, inputs).double(), torch.arange(samples)
    return MultiTaskData(features, tuple(Task(f"task {i}", ("y",), rows, targets[:, i : i + 1]) for i in (0, 1)))


def problem(data: MultiTaskData, network: nn.Module, decay: float = 1e-3) -> RobustMultiTask:
    criteria = same_for_all(Squared(), Penalty(0.5))
    return RobustMultiTask(
        network, data, objective="task 0", thresholds={"task 1": 0.6}, criteria=criteria, weight_decay=decay
    )


def flat(network: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def dense(metric: LayeredMetric, size: int) -> Tensor:
    return metric.apply(torch.eye(size, dtype=torch.float64))


def damped_inverse(moments: Tensor, share: float, more: Tensor | float = 0.0) -> Tensor:
    damping = share * moments.diagonal().mean() + more
    inverse: Tensor = torch.linalg.inv(moments + damping * torch.eye(len(moments), dtype=torch.float64))
    return inverse


def test_a_layer_is_multiplied_from_both_sides() -> None:
    right, left = (a @ a.T for a in (torch.randn(n, n, dtype=torch.float64) for n in (4, 2)))
    metric = LayeredMetric((LayerMetric(1, 2, 3, 8, right, left),))
    v = torch.randn(1, 11, dtype=torch.float64)

    found = metric.apply(v)[0]

    table = left @ torch.cat([v[0, 1:7].view(2, 3), v[0, 8:10].view(2, 1)], dim=1) @ right
    expected = torch.cat([v[0, :1], table[:, :3].flatten(), v[0, 7:8], table[:, 3], v[0, 10:]])
    torch.testing.assert_close(found, expected)
    eigenvalues = torch.linalg.eigvalsh(dense(metric, 11))
    assert float(eigenvalues.min()) > 0


def test_diagonal_sides_are_the_same_as_matrices() -> None:
    right, left = torch.rand(4, dtype=torch.float64), torch.rand(2, dtype=torch.float64)
    matrices = LayeredMetric((LayerMetric(0, 2, 3, 6, torch.diag(right), torch.diag(left)),))
    torch.testing.assert_close(
        dense(LayeredMetric((LayerMetric(0, 2, 3, 6, right, left),)), 8), dense(matrices, 8), rtol=1e-12, atol=0
    )


def test_a_run_begins_with_the_moments_of_the_features() -> None:
    data = regression()
    network = seeded_network(16, 5, (1, 1), seed=0).double()

    metric = problem(data, network).initial_metric(flat(network))

    assert isinstance(metric, LayeredMetric)
    (layer,) = metric.layers
    table = torch.cat([data.table, torch.ones(200, 1)], dim=1)
    assert layer.right is not None
    torch.testing.assert_close(layer.right, damped_inverse(table.T @ table / 200, OF_FEATURES))


def test_a_convolution_has_the_moments_of_its_patches() -> None:
    data = regression()
    network = Convolved((1, 1)).double()

    metric = problem(data, network).initial_metric(flat(network))

    assert isinstance(metric, LayeredMetric)
    (layer,) = metric.layers
    padded = functional.pad(data.table.view(-1, 4, 4), (1, 1, 1, 1))
    patches = [padded[:, i : i + 2, j : j + 2].reshape(200, 4) for i in (0, 2, 4) for j in (0, 2, 4)]
    table = torch.cat([torch.cat([one, torch.ones(200, 1)], dim=1) for one in patches])
    assert layer.right is not None
    torch.testing.assert_close(layer.right, damped_inverse(table.T @ table / 200, OF_FEATURES))


def test_later_it_has_the_derivatives_behind_each_layer() -> None:
    data, decay = regression(), 0.01
    network = seeded_network(16, 5, (1, 1), seed=0).double()
    x, weights = flat(network), torch.rand(200, dtype=torch.float64)
    weights /= weights.sum()

    metric = LayerCurvature(network, data, data.tasks[:1], decay).at(x, [weights.sqrt().unsqueeze(0)], [weights])

    assert metric is not None
    trunk, head, _ = metric.layers
    table = torch.cat([data.table, torch.ones(200, 1)], dim=1)
    hidden = torch.tanh(network.trunk(data.features)).detach()
    back = weights.sqrt().unsqueeze(1) * (1 - hidden.square()) * network.heads.task[0].weight.detach()  # type: ignore[operator]
    a, b = table.T @ table / 200, back.T @ back
    assert trunk.right is not None
    assert trunk.left is not None
    torch.testing.assert_close(trunk.right, damped_inverse(a, OF_FEATURES, decay / b.diagonal().mean()))
    torch.testing.assert_close(trunk.left, damped_inverse(b, INSIDE, decay / a.diagonal().mean()))
    inside = torch.cat([hidden, torch.ones(200, 1)], dim=1)
    moments = (weights.unsqueeze(1) * inside).T @ inside
    assert head.right is not None
    torch.testing.assert_close(head.right, damped_inverse(moments, INSIDE, decay / weights.sum()))


def test_the_spread_is_a_root_of_the_second_derivatives() -> None:
    one, target = torch.randn(4, 1, dtype=torch.float64), torch.eye(4, dtype=torch.float64)[:, :1]
    logits, targets = one.repeat(1, 5000), target.repeat(1, 5000)  # the same sample many times: only the signs differ

    spread = spread_of(CrossEntropy(), logits, targets, torch.ones(5000, dtype=torch.float64))

    p = logits[:, 0].softmax(dim=0)
    torch.testing.assert_close(spread @ spread.T / 5000, torch.diag(p * (1 - p)), rtol=0.05, atol=0.01)


@pytest.mark.parametrize("robust", [True, False])
def test_badly_conditioned_features_cost_less_than_half_of_the_evaluations(robust: bool) -> None:
    data = regression()
    network = seeded_network(16, 8, (1, 1), seed=0).double()
    oracle: RobustMultiTask | FixedWeights = problem(data, network, decay=0.0)
    if not robust:
        oracle = FixedWeights(network, data, same_for_all(Squared(), Mean()), {"task 0": 1.0, "task 1": 1.0}, 0.0)

    def run(preconditioner: bool, steps: int) -> Solution:
        return solve(oracle, flat(network), IDBPD(preconditioner=preconditioner), max_steps=steps, tolerance=1e-2)

    assert isinstance(oracle, PreconditionedOracle)
    known = run(True, 200)
    assert known.status is Status.CONVERGED
    assert run(False, 2 * known.steps).status is Status.MAX_STEPS


def test_a_run_in_the_metric_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    data = regression()
    network = seeded_network(16, 8, (1, 1), seed=0).double()

    def run(steps: int, **options: object) -> Solution:
        fresh = problem(data, network)  # nothing of the first run is left but its file
        return solve(fresh, flat(network), max_steps=steps, tolerance=1e-12, **options)  # type: ignore[arg-type]

    whole = run(40)
    for steps in (5, 15, 33):  # before the metric is taken again, between, and after the second time
        save_state(run(steps).state, tmp_path / "state.pt")
        rest = run(40, state=load_state(tmp_path / "state.pt"))
        assert isinstance(rest.x, Tensor)
        assert isinstance(whole.x, Tensor)
        assert torch.equal(rest.x, whole.x)
        assert rest.evaluations == whole.evaluations


def test_a_network_without_known_layers_has_no_metric() -> None:
    class Bent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(16, dtype=torch.float64))

        def forward(self, features: Tensor) -> tuple[Tensor, ...]:
            return ((features @ self.weight).unsqueeze(1),) * 2

    network = Bent()
    oracle, x = problem(regression(), network), flat(network)
    assert oracle.initial_metric(x) is None
    runs = [solve(oracle, x, IDBPD(preconditioner=on), max_steps=3) for on in (True, False)]
    assert runs[0].f == runs[1].f
