"""Every loss of the registry, and the example for contributors, keeps the promises of the protocol."""

import pytest
import torch

from idbpd.mtl import KINDS, LOSSES, CrossEntropy, Logistic, Loss, default_loss
from tests.extensions.brier import Brier

EVERY_LOSS = [*(make() for make in LOSSES.values()), Brier()]


@pytest.fixture
def targets() -> torch.Tensor:
    drawn = torch.rand(6, 4, dtype=torch.float64)
    return drawn / drawn.sum(dim=1, keepdim=True)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_the_slope_is_the_derivative_along_either_dimension(loss: Loss, targets: torch.Tensor) -> None:
    logits = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(loss.values(logits, targets).sum(), logits)
    logits = logits.detach()
    torch.testing.assert_close(loss.slope(logits, targets), expected)
    torch.testing.assert_close(loss.slope(logits.T, targets.T, dim=0), expected.T)
    torch.testing.assert_close(loss.values(logits.T, targets.T, dim=0), loss.values(logits, targets))


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_answers_have_the_loss_of_the_logits_they_come_from(loss: Loss, targets: torch.Tensor) -> None:
    logits = torch.randn(6, 4, dtype=torch.float64)
    torch.testing.assert_close(loss.values_of_answers(loss.answers(logits), targets), loss.values(logits, targets))


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_no_other_constant_has_a_lower_mean_loss_than_the_guess(loss: Loss, targets: torch.Tensor) -> None:
    guess = loss.guess(targets)
    least = loss.values(guess.expand_as(targets), targets).mean()
    for _ in range(20):
        other = guess + 0.5 * torch.randn(4, dtype=torch.float64)
        assert loss.values(other.expand_as(targets), targets).mean() > least


def test_a_label_that_is_not_known_has_no_part_in_the_loss() -> None:
    logits = torch.randn(3, 2, dtype=torch.float64)
    targets = torch.tensor([[1.0, torch.nan], [0.0, torch.nan], [1.0, 0.0]], dtype=torch.float64)
    alone = Logistic().values(logits[:, :1], targets[:, :1])
    torch.testing.assert_close(Logistic().values(logits, targets)[:2], alone[:2])
    assert (Logistic().slope(logits, targets)[:2, 1] == 0).all()
    assert Logistic().guess(targets).isfinite().all()


def test_every_kind_of_task_has_a_loss() -> None:
    assert {kind: default_loss(kind) for kind in KINDS} == {
        "binary": "logistic",
        "classes": "cross_entropy",
        "labels": "logistic",
        "number": "squared",
        "distribution": "cross_entropy",
    }


def test_a_probability_of_zero_is_not_infinitely_bad() -> None:
    values = CrossEntropy().values_of_answers(torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]]))
    assert 80 < values.item() < 90
