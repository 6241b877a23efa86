"""Every loss of the registry, and the example for contributors, keeps the promises of the protocol."""

import pytest
import torch

from idbpd.mtl import LOSSES, CrossEntropy, Loss
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
def test_a_guess_is_the_same_for_every_sample(loss: Loss, targets: torch.Tensor) -> None:
    guess = loss.guess(targets)
    assert guess.shape == targets.shape
    assert torch.equal(guess, guess[:1].expand_as(guess))


def test_a_probability_of_zero_is_not_infinitely_bad() -> None:
    values = CrossEntropy().values_of_answers(torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]]))
    assert 80 < values.item() < 90
