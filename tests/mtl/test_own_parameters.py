"""Which parameters can be trained without a change of one task's answers."""

import torch
from torch import Tensor, nn

from idbpd.mtl import own_parameters, seeded_network


def _names(network: nn.Module, places: Tensor) -> dict[str, int]:
    """How many numbers of which parameter."""
    chosen = torch.zeros(sum(parameter.numel() for parameter in network.parameters()), dtype=torch.bool)
    chosen[places] = True
    pieces = torch.split(chosen, [parameter.numel() for parameter in network.parameters()])
    found = zip((name for name, _ in network.named_parameters()), pieces, strict=True)
    return {name: int(piece.sum()) for name, piece in found if piece.any()}


def test_of_the_default_network_they_are_the_other_heads() -> None:
    network = seeded_network(7, 5, (3, 2, 4), seed=0)
    features = torch.randn(200, 7)
    features[:, 2] = 0  # has no part in any answer
    features[:, 3] *= 1e6  # saturates every unit
    own = own_parameters(network, features, 0)
    expected = {"heads.task.1.weight": 10, "heads.task.1.bias": 2, "heads.task.2.weight": 20, "heads.task.2.bias": 4}
    assert _names(network, own.places) == expected
    assert own.tasks == (1, 2)
    assert _names(network, own_parameters(network, features, 1).places).keys() == {
        f"heads.task.{at}.{kind}" for at in (0, 2) for kind in ("weight", "bias")
    }


class _OneLayer(nn.Module):
    """The heads of both tasks are rows of one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.heads = nn.Linear(4, 6), nn.Linear(6, 5)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.heads(torch.relu(self.trunk(features)))
        return logits[:, :2], logits[:, 2:]


def test_a_layer_with_the_heads_of_all_tasks_is_divided() -> None:
    network = _OneLayer()
    own = own_parameters(network, torch.randn(30, 4), 0)
    assert _names(network, own.places) == {"heads.weight": 18, "heads.bias": 3}
    assert own.places[:18].tolist() == list(range(30 + 12, 30 + 30))  # the last three rows
    assert own.tasks == (1,)


class _AllShared(nn.Module):
    """One output, which all tasks read."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer(features), -self.layer(features)


def test_a_network_that_shares_everything_has_none() -> None:
    own = own_parameters(_AllShared(), torch.randn(30, 4), 0)
    assert len(own.places) == 0
    assert own.tasks == ()


class _Detached(_OneLayer):
    """The first task looks at the head of the second one, through which no gradient flows."""

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        first, second = super().forward(features)
        return first + second.detach().sum(dim=1, keepdim=True), second


def test_a_dependence_without_a_gradient_is_found() -> None:
    assert own_parameters(_Detached(), torch.randn(30, 4), 0).tasks == ()


def test_weights_and_precision_of_the_network_stay_as_they_are() -> None:
    network = seeded_network(3, 4, (2, 2), seed=0)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    own_parameters(network, torch.randn(5, 3), 0)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
    assert network.trunk.weight.dtype is torch.float32
