import math

import pytest
import torch

from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.bounds import Dual, capped_worst_case_upper

DUALS = [Dual.of_penalty(0.1), Dual.of_penalty(1.0), Dual.of_share(0.2), Dual.of_share(0.2, 0.1), Dual(0.0, 1.0)]


@pytest.mark.parametrize("regularisation", [1e-3, 0.1, 1.0, 100.0])
def test_the_smallest_mean_of_costs_is_the_penalised_worst_case(regularisation: float) -> None:
    losses = torch.empty(3, 50, dtype=torch.float64).exponential_()
    dual = Dual.of_penalty(regularisation)
    costs = dual.costs(losses, dual.best_level(losses)[:, None]).mean(dim=-1)
    expected = torch.stack([worst_weighting(row, Penalty(regularisation)).value for row in losses])
    torch.testing.assert_close(costs, expected, rtol=1e-10, atol=1e-12)


def test_the_smallest_mean_of_costs_is_the_mean_of_the_worst_share() -> None:
    losses = torch.rand(50, dtype=torch.float64)
    dual = Dual.of_share(0.2)
    worst = losses.topk(10).values.mean().item()
    assert dual.costs(losses, dual.best_level(losses)).mean().item() == pytest.approx(worst)
    # A smoothed one is lower by at most smoothing (1 / share - 1) / 2.
    smooth = Dual.of_share(0.2, 0.01)
    assert worst - 0.02 <= smooth.costs(losses, smooth.best_level(losses)).mean().item() <= worst


@pytest.mark.parametrize("dual", DUALS, ids=repr)
def test_every_level_gives_an_upper_bound_and_costs_grow_with_the_loss(dual: Dual) -> None:
    losses = torch.rand(50, dtype=torch.float64).sort().values
    best = dual.costs(losses, dual.best_level(losses)).mean()
    for level in torch.linspace(-1, 2, 31).tolist():
        costs = dual.costs(losses, level)
        assert costs.mean() >= best - 1e-12
        assert (costs.diff() >= -1e-12).all()


def test_the_bound_holds_for_few_samples_and_nears_the_truth_with_many() -> None:
    # Uniform losses, lambda = 0.1, by hand as in the test of the jackknife.
    true = 1 - 0.2**0.5 + 0.05 + 0.2**1.5 / 0.6
    dual = Dual.of_penalty(0.1)
    level = dual.best_level(torch.rand(400)).item()
    few = capped_worst_case_upper(torch.rand(500, 50), dual, level, cap=1.0)
    many = capped_worst_case_upper(torch.rand(400_000), dual, level, cap=1.0).item()
    assert (few >= true).double().mean().item() >= 0.95
    assert true <= many <= 1.01 * true


def test_losses_beyond_the_cap_count_as_the_cap() -> None:
    dual = Dual.of_share(0.5)
    losses = torch.rand(100, dtype=torch.float64)
    bound = capped_worst_case_upper(torch.cat([losses, torch.tensor([1.0])]), dual, 0.5, cap=1.0)
    assert torch.equal(bound, capped_worst_case_upper(torch.cat([losses, torch.tensor([1e9])]), dual, 0.5, cap=1.0))
    assert bound < capped_worst_case_upper(torch.cat([losses, torch.tensor([1e9])]), dual, 0.5, cap=2.0)


def test_input_without_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="the largest loss itself has no such bound"):
        Dual(0.0, math.inf)
    for wrong in ((-1.0, 2.0), (1.0, 0.5), (math.nan, 2.0)):
        with pytest.raises(ValueError, match="smoothing must be at least 0 and largest_ratio at least 1, got"):
            Dual(*wrong)
    with pytest.raises(ValueError, match=r"losses must not be negative, got -0\.5"):
        capped_worst_case_upper(torch.tensor([-0.5, 1.0]), Dual.of_penalty(1.0), 0.5, cap=2.0)
    with pytest.raises(ValueError, match="cap must be positive, got 0"):
        capped_worst_case_upper(torch.tensor([0.5, 1.0]), Dual.of_penalty(1.0), 0.5, cap=0)
