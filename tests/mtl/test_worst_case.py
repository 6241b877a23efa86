import pytest
import torch

from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.worst_cases import WorstCase, values_at, worst_values_of_draws
from tests.extensions.entropic import Entropic


@pytest.mark.parametrize("regularisation", [1e-3, 0.1, 1.0, 100.0])
def test_no_distribution_is_worse(regularisation: float) -> None:
    losses = torch.rand(30, dtype=torch.float64) * 3
    weights, value = worst_weighting(losses, Penalty(regularisation))

    def loss_under(y: torch.Tensor) -> torch.Tensor:
        return y @ losses - regularisation * 30 / 2 * ((y - 1 / 30) ** 2).sum()

    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert weights.min() >= 0
    assert value == pytest.approx(loss_under(weights).item())
    others = torch.distributions.Dirichlet(torch.full((30,), 0.3, dtype=torch.float64)).sample((1000,))
    nearby = 0.99 * weights + 0.01 * others
    for y in torch.cat([others, nearby]):
        assert loss_under(y) <= value + 1e-12


def test_it_lies_between_the_mean_and_the_maximum_and_tends_to_them() -> None:
    losses = torch.tensor([0.1, 0.5, 2.0])
    values = [worst_weighting(losses, Penalty(regularisation)).value.item() for regularisation in (1e6, 1.0, 0.1, 1e-6)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(losses.mean().item(), abs=1e-5)
    assert values[-1] == pytest.approx(2.0, abs=1e-5)


def test_equal_losses_leave_the_weights_uniform() -> None:
    weights, value = worst_weighting(torch.full((4,), 0.7), Penalty(0.1))
    torch.testing.assert_close(weights, torch.full((4,), 0.25, dtype=torch.float64))
    assert value == pytest.approx(0.7)


def test_a_lambda_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="regularisation must be positive, got 0"):
        Penalty(0.0)


# The one of the registry, and the example for contributors.
EVERY_WORST_CASE = (Penalty(0.1), Entropic(0.5))


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=repr)
def test_given_weights_are_never_worse_than_the_worst_ones(worst_case: WorstCase) -> None:
    losses = torch.rand(30, dtype=torch.float64)
    weights, value = worst_weighting(losses, worst_case)
    others = torch.rand(50, 30, dtype=torch.float64).softmax(dim=1)
    nearby = 0.99 * weights + 0.01 * others
    found = values_at(torch.cat([weights[None], others, nearby]), losses, worst_case)
    assert found[0] == pytest.approx(value.item())
    assert (found[1:] < value).all()


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=repr)
def test_the_worst_case_of_every_row_is_that_of_the_row_alone(worst_case: WorstCase) -> None:
    losses = torch.rand(30, dtype=torch.float64) * 3
    draws = torch.randint(30, (7, 30))
    expected = torch.stack([worst_weighting(losses[row], worst_case).value for row in draws])
    torch.testing.assert_close(worst_values_of_draws(losses, draws, worst_case), expected, rtol=1e-12, atol=0)
