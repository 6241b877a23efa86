import math

import pytest
import torch

from idbpd.mtl import (
    AnswerNetwork,
    CrossEntropy,
    Logistic,
    Meaning,
    MultiTaskData,
    Penalty,
    Squared,
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
    assert quality.metrics["hit_rate"] == pytest.approx(2 / 3)
    assert quality.headline == ("hit_rate", quality.metrics["hit_rate"])
    assert quality.mean_loss < quality.worst_case_loss < 5.1


def test_a_sample_without_a_label_does_not_count_as_a_miss() -> None:
    logits = torch.tensor([[5.0, 0.0], [0.0, 5.0]])
    task = Task("only", ("a", "b"), torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    quality = measure_quality(_Fixed(), MultiTaskData(logits, (task,)), CRITERIA)["only"]
    assert quality.metrics["hit_rate"] == quality.metrics["ranking_precision"] == 1
    assert quality.metrics["log_loss"] == pytest.approx(2 * quality.mean_loss, rel=1e-5)  # the loss of no label is zero


def test_no_constant_is_better_than_the_guess() -> None:
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    task = Task("only", ("a", "b", "c"), torch.arange(4), targets)
    guess = guess_loss(task, CRITERIA)
    for constant in (torch.zeros(3), targets.mean(dim=0).log(), *(3 * torch.randn(20, 3))):
        fixed = MultiTaskData(constant.expand(4, 3), (task,))
        assert measure_quality(_Fixed(), fixed, CRITERIA)["only"].worst_case_loss >= guess - 1e-6


def test_probabilities_of_every_task_sum_to_one() -> None:
    model = AnswerNetwork(seeded_network(6, 5, (3, 2), seed=0))
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


def test_a_label_of_several_independent_ones_is_recognised_when_the_answer_is_yes() -> None:
    logits = torch.tensor([[2.0, 1.0], [-1.0, 3.0], [1.0, -2.0], [3.0, 4.0]])
    targets = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, math.nan]])
    task = Task("only", ("a", "b"), torch.arange(4), targets, Meaning("labels"))
    criteria = same_for_all(Logistic(), Penalty(0.1))
    labels = measure_quality(_Fixed(), MultiTaskData(logits, (task,)), criteria)["only"].labels
    assert [labels[name].samples for name in "ab"] == [3, 2]
    assert [labels[name].hit_rate for name in "ab"] == [pytest.approx(2 / 3), 0.5]
    # Of the samples whose b is known, one without it has the highest score, one with it the lowest.
    assert labels["b"].average_precision == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_number_has_no_labels_and_its_loss_is_not_its_error() -> None:
    task = Task("only", ("grade",), torch.arange(2), torch.zeros(2, 1), Meaning("number", center=10.0, scale=4.0))
    data = MultiTaskData(torch.tensor([[0.5], [-1.0]]), (task,))
    quality = measure_quality(_Fixed(), data, same_for_all(Squared(), Penalty(0.1)))["only"]
    assert quality.labels == {}
    assert quality.mean_loss == pytest.approx((0.25 + 1) / 2)
    assert quality.headline == ("mae", 3.0)
    assert list(quality.values)[:5] == ["mean_loss", "worst_case_loss", "maximum_loss", "cvar_loss", "mae"]


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
