"""What is computed piece by piece is what is computed at once."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from idbpd.mtl import LOSSES, MultiTaskData, RobustMultiTask, Task, same_for_all, seeded_network
from idbpd.mtl import pieces as here
from idbpd.mtl.layer_moments import random_signs, spread_of
from idbpd.mtl.losses import CrossEntropy, Loss
from idbpd.mtl.pieces import loss_slopes, loss_values
from idbpd.mtl.worst_cases import Share

SAMPLES, OUTPUTS = 50, 3
# The last digit of a softmax depends on where a sample lies in a vector instruction.
RTOL, ATOL = 1e-13, 1e-15


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """What a function gives at once, and in pieces of seven samples."""

    def both(function: Callable[[], Any]) -> tuple[Any, Any]:
        whole = function()
        with monkeypatch.context() as patch:
            patch.setattr(here, "PIECE", 7)
            return whole, function()

    return both


def _table(seed: int) -> Tensor:
    return torch.rand(SAMPLES, OUTPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("loss", [make() for make in LOSSES.values()], ids=LOSSES.keys())
@pytest.mark.parametrize("dim", [0, -1])
def test_losses(loss: Loss, dim: int, short: Callable[..., tuple[Any, Any]]) -> None:
    logits, targets = (_table(seed) for seed in (0, 1))
    targets = targets / targets.sum(dim=1, keepdim=True)
    if dim == 0:
        logits, targets = logits.T.contiguous(), targets.T.contiguous()
    torch.testing.assert_close(*short(lambda: loss_values(loss, logits, targets, dim=dim)), rtol=RTOL, atol=ATOL)
    torch.testing.assert_close(*short(lambda: loss_slopes(loss, logits, targets, dim=dim)), rtol=RTOL, atol=ATOL)
    constant = logits[:, :1].expand_as(targets) if dim == 0 else logits[:1].expand_as(targets)
    torch.testing.assert_close(*short(lambda: loss_slopes(loss, constant, targets, dim=dim)), rtol=RTOL, atol=ATOL)


def test_signs_and_spreads(short: Callable[..., tuple[Any, Any]]) -> None:
    assert torch.equal(*short(lambda: random_signs(OUTPUTS, SAMPLES)))
    logits, targets = _table(0).T.contiguous(), _table(1).T.contiguous()
    weights = torch.full((SAMPLES,), 0.02)
    torch.testing.assert_close(*short(lambda: spread_of(CrossEntropy(), logits, targets, weights)), rtol=1e-7, atol=0)


@pytest.mark.parametrize("dense", [False, True])
def test_an_evaluation_and_its_gradients(short: Callable[..., tuple[Any, Any]], dense: bool) -> None:
    targets = torch.nn.functional.one_hot(torch.arange(SAMPLES) % OUTPUTS, OUTPUTS).double()
    rows = torch.arange(SAMPLES)
    tasks = (Task("a", ("x", "y", "z"), rows, targets), Task("b", ("x", "y", "z"), rows[5:40], targets[5:40]))
    data = MultiTaskData(_table(2), tasks)
    network = seeded_network(OUTPUTS, 4, data.classes, seed=0).double()
    x = torch.nn.utils.parameters_to_vector(network.parameters()).detach()

    def computed() -> Tensor:
        oracle = RobustMultiTask(
            network,
            data,
            objective="a",
            thresholds={"b": 0.5},
            criteria=same_for_all(CrossEntropy(), Share(0.3)),
            dense=dense,
        )
        evaluation = oracle.evaluate(x, oracle.start(x))
        return torch.cat([evaluation.f.view(1), evaluation.g, oracle.differentiate(evaluation).rows.flatten()])

    torch.testing.assert_close(*short(computed), rtol=RTOL, atol=ATOL)
