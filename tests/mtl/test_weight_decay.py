"""The weight decay, and which parameters it leaves alone."""

import pytest
import torch
from torch import Tensor, nn

from idbpd.mtl import (
    CrossEntropy,
    FixedWeights,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    Task,
    guess_loss,
    output_offsets,
    same_for_all,
    seeded_network,
)
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim import IDBPD, solve

FEATURES = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class OneOutputLayer(nn.Module):
    """Two tasks whose heads are one layer; a scale and an offset in front of it are vectors too."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.LayerNorm(4)
        self.heads = nn.Linear(4, 5)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        outputs = self.heads(torch.relu(self.norm(self.first(features))))
        return outputs[:, :2], outputs[:, 2:]


def _names(network: nn.Module) -> set[str]:
    marked = output_offsets(network, FEATURES)
    sizes = [parameter.numel() for parameter in network.parameters()]
    pieces = zip(network.named_parameters(), torch.split(marked, sizes), strict=True)
    return {name for (name, _), piece in pieces if bool(piece.all())}


def _data() -> MultiTaskData:
    """Targets that have nothing to do with the features, one class much more frequent than the others."""
    classes = torch.tensor([0] * 30 + [1] * 7 + [2] * 3)
    targets = nn.functional.one_hot(classes, 3).double()
    return MultiTaskData(FEATURES, (Task("only", ("a", "b", "c"), torch.arange(40), targets),))


def test_the_offsets_of_the_default_network_are_the_biases_of_its_heads() -> None:
    assert _names(seeded_network(3, 4, (2, 3), seed=0)) == {"heads.task.0.bias", "heads.task.1.bias"}


def test_the_offsets_of_another_network_are_found_by_trying() -> None:
    assert _names(OneOutputLayer()) == {"heads.bias"}


def test_a_network_without_biases_has_no_offsets() -> None:
    network = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 2, bias=False))
    network.register_forward_hook(lambda _module, _inputs, outputs: (outputs,))
    assert not output_offsets(network, FEATURES).any()


def test_offsets_do_not_decay() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    decay = WeightDecay(0.5, torch.tensor([False, True, False]))
    assert decay.value(x).item() == pytest.approx(0.25 * 10)
    assert decay.add_slope(torch.zeros(3), x).tolist() == [0.5, 0.0, 1.5]


def test_a_large_decay_gives_the_best_constant_answer() -> None:
    data, criteria = _data(), same_for_all(CrossEntropy(), Penalty(0.1))
    guess = guess_loss(data.tasks[0], criteria)
    network = seeded_network(3, 4, data.classes, seed=0).double()
    x = nn.utils.parameters_to_vector(network.parameters()).detach()
    for oracle in (
        RobustMultiTask(
            network,
            data,
            objective="only",
            thresholds={},
            criteria=criteria,
            weight_decay=10.0,
            offsets=output_offsets(network, FEATURES),
        ),
        FixedWeights(
            network, data, criteria, {"only": 1.0}, 10.0, offsets=output_offsets(network, FEATURES), robust=True
        ),
    ):
        solution = solve(oracle, x, IDBPD(), max_steps=300, tolerance=1e-6)
        assert abs(solution.f - guess) < 1e-4
