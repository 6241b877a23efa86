import math

import pytest
import torch

from idbpd.mtl import (
    CrossEntropy,
    LabelProbabilities,
    MultiTaskData,
    Penalty,
    Task,
    TaskQuality,
    guess_loss,
    measure_quality,
    same_for_all,
    sample_losses,
    seeded_network,
)
from idbpd.mtl.quality import tail_mean

CRITERIA = same_for_all(CrossEntropy(), Penalty(0.1))


class _Fixed(torch.nn.Module):
    """A network that says what it is told."""

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (features,)


def test_hits_are_first_guesses_that_are_true_labels() -> None:
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [5.0, 0.0, 0.0]])
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    task = Task("only", ("a", "b", "c"), torch.tensor([0, 1, 2]), targets)
    quality = measure_quality(_Fixed(), MultiTaskData(logits, (task,)), CRITERIA)["only"]
    assert quality.hit_rate == pytest.approx(2 / 3)
    assert quality.mean_loss < quality.worst_case_loss < 5.1


def test_a_sample_without_a_label_does_not_count_as_a_miss() -> None:
    logits = torch.tensor([[5.0, 0.0], [0.0, 5.0]])
    task = Task("only", ("a", "b"), torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    assert measure_quality(_Fixed(), MultiTaskData(logits, (task,)), CRITERIA)["only"].hit_rate == 1


def test_a_guess_has_the_same_loss_on_every_sample_with_a_label() -> None:
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    rows = torch.arange(3)
    assert guess_loss(Task("only", ("a", "b", "c"), rows[:2], targets[:2]), CRITERIA) == pytest.approx(math.log(3))
    kept = Task("only", ("a", "b", "c"), rows, targets)
    uniform = MultiTaskData(torch.zeros(3, 3), (kept,))
    rare = same_for_all(CrossEntropy(), Penalty(10.0))
    for criteria in (CRITERIA, rare):
        worst = measure_quality(_Fixed(), uniform, criteria)["only"].worst_case_loss
        assert guess_loss(kept, criteria) == pytest.approx(worst)
    assert guess_loss(kept, rare) < guess_loss(kept, CRITERIA) < math.log(3) + 1e-6


def test_probabilities_of_every_task_sum_to_one() -> None:
    model = LabelProbabilities(seeded_network(6, 5, (3, 2), seed=0))
    probabilities = model(torch.randn(7, 6))
    assert probabilities.shape == (7, 5)
    torch.testing.assert_close(probabilities[:, :3].sum(dim=1), torch.ones(7))
    torch.testing.assert_close(probabilities[:, 3:].sum(dim=1), torch.ones(7))


def test_the_seed_alone_decides_the_first_weights() -> None:
    first = seeded_network(6, 5, (3, 2), seed=3)
    torch.rand(10)
    second, other = seeded_network(6, 5, (3, 2), seed=3), seeded_network(6, 5, (3, 2), seed=4)
    assert torch.equal(first.trunk.weight, second.trunk.weight)
    assert not torch.equal(first.trunk.weight, other.trunk.weight)


def _measured(logits: torch.Tensor, targets: torch.Tensor) -> TaskQuality:
    labels = tuple("abcdefgh"[: targets.shape[1]])
    task = Task("only", labels, torch.arange(len(logits)), targets)
    return measure_quality(_Fixed(), MultiTaskData(logits, (task,)), CRITERIA)["only"]


def test_losses_are_ordered_from_the_mean_to_the_maximum() -> None:
    quality = _measured(torch.randn(200, 4), torch.nn.functional.one_hot(torch.randint(4, (200,)), 4).float())
    assert quality.mean_loss < quality.cvar_loss < quality.maximum_loss
    assert quality.mean_loss < quality.worst_case_loss < quality.maximum_loss
    losses = sample_losses(
        _Fixed(),
        MultiTaskData(torch.zeros(3, 2), (Task("t", ("a", "b"), torch.tensor([0, 2]), torch.eye(2)),)),
        CRITERIA,
    )
    torch.testing.assert_close(losses["t"], torch.full((2,), 2.0).log())


def test_the_tail_is_the_mean_of_the_worst_twentieth() -> None:
    losses = torch.randperm(100).double()
    assert tail_mean(losses, 0.05).item() == pytest.approx((99 + 98 + 97 + 96 + 95) / 5)
    assert tail_mean(losses[losses >= 50], 0.05).item() == pytest.approx((99 + 98 + 0.5 * 97) / 2.5)
    assert tail_mean(losses[losses >= 95], 0.05).item() == 99


def test_every_label_has_its_own_quality() -> None:
    logits = torch.tensor([[3.0, 2.0, 1.0, 0.0], [0.0, 2.0, 3.0, 1.0], [3.0, 0.0, 1.0, 2.0]])
    targets = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]])
    labels = _measured(logits, targets).labels
    assert [labels[name].samples for name in "abcd"] == [2, 2, 1, 0]
    # Two labels give two guesses: a is among them twice, b once of two times, c not.
    assert [labels[name].hit_rate for name in "abc"] == [1, 0.5, 0]
    losses = -(targets * logits.log_softmax(dim=-1)).sum(dim=-1)
    assert labels["a"].mean_loss == pytest.approx((losses[0] + losses[2]).item() / 2)
    assert labels["a"].average_precision == 1
    assert all(math.isnan(value) for value in labels["d"][1:])


def test_data_that_fit_into_memory_in_training_fit_here_too() -> None:
    class Small(_Fixed):
        def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, ...]:
            assert len(features) <= 1024
            return super().forward(features)

    logits = torch.randn(2500, 3)
    rows = torch.randperm(2500)[:2000]
    task = Task("only", ("a", "b", "c"), rows, torch.eye(3)[torch.randint(3, (2000,))])
    losses = sample_losses(Small(), MultiTaskData(logits, (task,)), CRITERIA)["only"]
    torch.testing.assert_close(losses, -logits.log_softmax(dim=1)[rows][task.targets > 0])
