import pytest
import torch

from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.worst_cases import values_at


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


def test_given_weights_are_never_worse_than_the_worst_ones() -> None:
    losses = torch.rand(30, dtype=torch.float64)
    rows = torch.rand(5, 30, dtype=torch.float64).softmax(dim=1)
    weights, value = worst_weighting(losses, Penalty(0.1))
    found = values_at(torch.cat([weights[None], rows]), losses, Penalty(0.1))
    assert found[0] == pytest.approx(value.item())
    assert (found[1:] < value).all()
