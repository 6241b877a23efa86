import pytest
import torch

from idbpd.mtl import LabelProbabilities, MultiTaskData, Task, measure_quality, seeded_network


class _Fixed(torch.nn.Module):
    """A network that says what it is told."""

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (features,)


def test_hits_are_first_guesses_that_are_true_labels() -> None:
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [5.0, 0.0, 0.0]])
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    task = Task("only", ("a", "b", "c"), torch.tensor([0, 1, 2]), targets)
    quality = measure_quality(_Fixed(), MultiTaskData(logits, (task,)), regularisation=0.1)["only"]
    assert quality.hit_rate == pytest.approx(2 / 3)
    assert quality.mean_loss < quality.worst_case_loss < 5.1


def test_a_sample_without_a_label_is_no_miss() -> None:
    logits = torch.tensor([[5.0, 0.0], [0.0, 5.0]])
    task = Task("only", ("a", "b"), torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    assert measure_quality(_Fixed(), MultiTaskData(logits, (task,)), regularisation=0.1)["only"].hit_rate == 1


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
