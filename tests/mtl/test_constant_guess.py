"""The best constant answer, in the worst case."""

import math

import pytest
import torch

from idbpd.mtl import CrossEntropy, Huber, Logistic, Loss, Penalty, Squared, Task, constant_logits, guess_loss
from idbpd.mtl.criterion import Criterion

TARGETS = {
    "rare": (torch.arange(100) < 14).double()[:, None],
    "classes": torch.eye(3, dtype=torch.float64)[torch.tensor([0] * 50 + [1] * 40 + [2] * 10)],
    "number": torch.linspace(-1, 3, 100, dtype=torch.float64)[:, None] ** 3,
}


@pytest.mark.parametrize("regularisation", [0.05, 1.0, 100.0])
@pytest.mark.parametrize(
    ("loss", "targets"),
    [(Logistic(), "rare"), (CrossEntropy(), "classes"), (Squared(), "number"), (Huber(0.5), "number")],
    ids=str,
)
def test_no_other_constant_has_a_lower_worst_case(loss: Loss, targets: str, regularisation: float) -> None:
    values, criterion = TARGETS[targets], Criterion(loss, Penalty(regularisation))
    best = constant_logits(values, criterion)

    def worst(logits: torch.Tensor) -> float:
        return criterion.worst(loss.values(logits.expand_as(values), values)).value.item()

    for size in (1e-2, 0.1, 1.0):
        for _ in range(20):
            assert worst(best + size * torch.randn(best.shape, dtype=torch.float64)) >= worst(best) - 1e-9


def test_the_best_constant_lies_between_a_coin_toss_and_the_frequencies() -> None:
    """A worst case may weight the rare answer more, but at a price."""
    task = Task("rare", ("yes",), torch.arange(100), TARGETS["rare"].float())
    frequencies = -0.14 * math.log(0.14) - 0.86 * math.log(0.86)
    values = [guess_loss(task, lambda _task, at=at: Criterion(Logistic(), Penalty(at))) for at in (0.05, 1.0, 1e4)]  # type: ignore[misc]
    assert frequencies < values[1] < values[0] <= math.log(2)
    assert values[2] == pytest.approx(frequencies, abs=1e-3)


def test_a_class_that_nobody_has_needs_no_infinite_logit() -> None:
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert constant_logits(targets, Criterion(CrossEntropy(), Penalty(0.1))).isfinite().all()
