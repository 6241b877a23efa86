import pytest
import torch

from idbpd.errors import DataError
from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.bounds import jackknife
from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks
from idbpd.mtl.worst_cases import GroupMixture, Mean


def test_blocks_are_as_large_as_each_other_and_random() -> None:
    blocks = random_blocks(503, most=50, seed=1)
    assert set(blocks.bincount().tolist()) == {10, 11}
    assert len(blocks.bincount()) == 50
    assert torch.equal(blocks, random_blocks(503, most=50, seed=1))
    assert not torch.equal(blocks, random_blocks(503, most=50, seed=2))
    assert sorted(random_blocks(7, most=50).tolist()) == list(range(7))


def test_pseudo_values_are_those_of_every_block_left_out() -> None:
    losses = torch.rand(23, dtype=torch.float64) * 3
    blocks = random_blocks(23, most=5)
    whole = worst_weighting(losses, Penalty(0.1)).value
    expected = [5 * whole - 4 * worst_weighting(losses[blocks != b], Penalty(0.1)).value for b in range(5)]
    torch.testing.assert_close(pseudo_values(losses, Penalty(0.1), blocks), torch.stack(expected), rtol=1e-10, atol=0)


def test_those_of_the_mean_loss_are_the_losses() -> None:
    losses = torch.rand(30, dtype=torch.float64)
    values = pseudo_values(losses, Mean(), torch.arange(30))
    torch.testing.assert_close(values, losses, rtol=1e-10, atol=1e-12)


def test_they_take_away_the_bias_of_few_samples() -> None:
    # The worst case of uniform losses at lambda = 0.1, by hand: (1 - eta)^2 = 0.2, W = eta + 0.05 + 0.2^1.5 / 0.6.
    true = 1 - 0.2**0.5 + 0.05 + 0.2**1.5 / 0.6
    trials = torch.rand(1500, 20, dtype=torch.float64)
    measured = torch.stack([worst_weighting(losses, Penalty(0.1)).value for losses in trials]).mean().item()
    corrected = torch.stack([pseudo_values(losses, Penalty(0.1), torch.arange(20)).mean() for losses in trials])
    assert measured < true - 0.005
    assert corrected.mean().item() == pytest.approx(true, abs=0.004)


def test_a_worst_case_is_told_which_samples_are_left() -> None:
    losses = torch.rand(12, dtype=torch.float64)
    groups = torch.arange(12) % 2
    values = pseudo_values(losses, GroupMixture(groups, ("a", "b"), ("side",), 1e-9), torch.arange(12))
    worse = int(losses[groups == 1].mean() > losses[groups == 0].mean())
    left_out = int((groups == worse).nonzero()[0])
    kept = torch.arange(12) != left_out
    means = [losses[kept & (groups == group)].mean().item() for group in (0, 1)]
    measured = losses[groups == worse].mean().item()
    assert values[left_out].item() == pytest.approx(12 * measured - 11 * max(means))


def test_memory_is_bounded_without_a_change_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    losses, blocks = torch.rand(40, dtype=torch.float64), random_blocks(40, most=7)
    expected = pseudo_values(losses, Penalty(0.1), blocks)
    monkeypatch.setattr(jackknife, "NUMBERS_AT_A_TIME", 80)
    assert torch.equal(pseudo_values(losses, Penalty(0.1), blocks), expected)


def test_one_sample_is_refused() -> None:
    with pytest.raises(DataError, match="a bound needs at least 2 test samples, got 1"):
        random_blocks(1)
