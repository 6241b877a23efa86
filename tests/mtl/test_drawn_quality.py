"""The bootstrap over test samples."""

import pytest
import torch

from idbpd.mtl import CrossEntropy, Meaning, MultiTaskData, Task, measure_quality, same_for_all
from idbpd.mtl.drawn_quality import draw_quality, standard_error
from idbpd.mtl.worst_cases import Mean, Share

CRITERIA = same_for_all(CrossEntropy(), Mean())


class _Fixed(torch.nn.Module):
    """A network whose outputs are the features."""

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor]:
        return (features,)


def _data(n: int) -> MultiTaskData:
    targets = torch.eye(3)[torch.randint(3, (n,))]
    task = Task("one", ("a", "b", "c"), torch.arange(n), targets, Meaning("classes"))
    return MultiTaskData(torch.randn(n, 3) + targets, (task,))


def test_the_standard_error_of_a_mean_is_the_textbook_one() -> None:
    data, n = _data(400), 400
    drawn = draw_quality(_Fixed(), data, CRITERIA, draws=2000)["one"]
    losses = CrossEntropy().values(data.table, data["one"].targets).double()
    assert standard_error(drawn.worst_case_loss) == pytest.approx(losses.std().item() / n**0.5, rel=0.1)
    accuracy = measure_quality(_Fixed(), data, CRITERIA)["one"].metrics["accuracy"]
    expected = (accuracy * (1 - accuracy) / n) ** 0.5
    assert standard_error(drawn.headline) == pytest.approx(expected, rel=0.1)
    assert drawn.headline.mean().item() == pytest.approx(accuracy, abs=3 * expected / 2000**0.5 + 1e-3)


def test_draws_are_the_same_for_all_models_and_for_any_size_of_block(monkeypatch: pytest.MonkeyPatch) -> None:
    data, criteria = _data(30), same_for_all(CrossEntropy(), Share(0.5))
    whole = draw_quality(_Fixed(), data, criteria, draws=20)["one"]
    monkeypatch.setattr("idbpd.mtl.drawn_quality.NUMBERS_AT_A_TIME", 70)
    in_blocks = draw_quality(_Fixed(), data, criteria, draws=20)["one"]
    assert torch.equal(whole.worst_case_loss, in_blocks.worst_case_loss)
    assert torch.equal(whole.headline, in_blocks.headline)


def test_a_measure_that_is_defined_in_no_draw_has_no_error() -> None:
    assert standard_error(torch.tensor([float("nan"), 1.0])) != standard_error(torch.tensor([1.0, 1.0]))
    assert torch.tensor(standard_error(torch.tensor([float("nan")] * 3))).isnan()
