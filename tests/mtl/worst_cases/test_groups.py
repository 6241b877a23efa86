"""Any mixture of groups: exact, for draws of samples too, and near the mean of the worst group."""

from typing import Any

import cvxpy as cp
import pytest
import torch
from torch import Tensor

from idbpd.mtl import Task, worst_weighting
from idbpd.mtl.worst_cases import GroupMixture, Groups, worst_values_of_draws
from tests.mtl.worst_cases.convex_reference import HARD_LOSSES, reference

NAMES = ("north", "east", "south", "west")


def _mixture(membership: Tensor, smoothing: float = 0.01) -> GroupMixture:
    return GroupMixture(membership, NAMES, ("region",), smoothing)


def _means(losses: Tensor, membership: Tensor) -> Tensor:
    return torch.stack([losses[membership == group].mean() for group in range(4) if (membership == group).any()])


@pytest.mark.parametrize("losses", HARD_LOSSES)
@pytest.mark.parametrize("smoothing", [1e-4, 0.01, 1.0])
def test_it_is_the_maximum_that_cvxpy_finds(losses: Tensor, smoothing: float) -> None:
    membership = torch.arange(len(losses)) % 3  # no sample is in the last group

    def program(q: Any, count: int, scale: float) -> tuple[Any, list[Any]]:
        return smoothing / scale / 2 * cp.sum_squares(q - 1 / count), []

    weights, value = worst_weighting(losses, _mixture(membership, smoothing))
    expected, scale = reference(_means(losses, membership), program)
    assert abs(value.item() - expected) <= 1e-8 * max(scale, abs(expected) * 1e-6)
    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert weights.min() >= 0
    for group in range(3):
        of_group = weights[membership == group]
        assert (of_group == of_group[:1]).all()


def test_it_is_below_the_mean_of_the_worst_group_by_at_most_the_stated_error() -> None:
    losses, membership = torch.rand(40, dtype=torch.float64), torch.arange(40) % 4
    worst = _means(losses, membership).max().item()
    for smoothing in (1e-9, 0.01, 1.0):
        value = worst_weighting(losses, _mixture(membership, smoothing)).value.item()
        assert worst - smoothing * (1 - 1 / 4) / 2 - 1e-12 <= value <= worst + 1e-12


def test_a_small_group_counts_as_much_as_a_large_one() -> None:
    losses = torch.tensor([5.0, *[0.0] * 99], dtype=torch.float64)
    membership = torch.tensor([0, *[1] * 99])
    weights, value = worst_weighting(losses, _mixture(membership))
    assert weights[0] == 1
    assert value == pytest.approx(5, abs=0.01)


def test_a_draw_has_the_groups_of_the_samples_that_were_drawn() -> None:
    losses, membership = torch.rand(30, dtype=torch.float64), torch.randint(4, (30,))
    draws = torch.randint(30, (7, 30))
    draws[0] = draws[0][0]  # one group alone
    worst_case = _mixture(membership)
    expected = [worst_weighting(losses[row], _mixture(membership[row])).value for row in draws]
    found = worst_values_of_draws(losses, draws, worst_case)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-12, atol=0)


def test_the_groups_come_with_the_task() -> None:
    task = Task(
        "churn", ("yes",), torch.arange(3), torch.zeros(3, 1), groups=torch.tensor([0, 2, 2]), group_names=NAMES
    )
    worst_case = Groups("region").for_task(task)
    weights = worst_weighting(torch.tensor([0.0, 1.0, 3.0]), worst_case).weights
    torch.testing.assert_close(weights, torch.tensor([0.0, 0.5, 0.5], dtype=torch.float64))
    assert worst_case.protects("churn", 3) == (
        "whatever mixture of the 2 groups of region the 3 samples of churn come from: the mean loss of the worst group "
        "(at most 0.0075 above the stated value, by smoothing)"
    )
    bare = Task("churn", ("yes",), torch.arange(3), torch.zeros(3, 1))
    with pytest.raises(ValueError, match="the samples of the task 'churn' have no groups of sex x race"):
        Groups(("sex", "race")).for_task(bare)


def test_columns_can_be_written_with_a_plus_between_them() -> None:
    assert Groups("sex+race").names == Groups(("sex", "race")).names == ("sex", "race")
    assert Groups(("a+b",)).names == ("a+b",)


@pytest.mark.parametrize(
    ("columns", "smoothing", "words"),
    [
        ("", 0.01, "groups names no column; write groups: region, or"),
        ((), 0.01, "groups names no column"),
        ("sex+sex", 0.01, "groups names a column twice: sex, sex"),
        ("sex", -1.0, "smoothing must be positive, got -1.0"),
    ],
)
def test_options_without_meaning_are_refused(columns: Any, smoothing: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Groups(columns, smoothing)
