import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from idbpd.mtl import Groups, Penalty, Task, worst_case_for, worst_weighting
from idbpd.mtl.worst_cases import (
    ChiSquare,
    GroupMixture,
    KullbackLeibler,
    Mean,
    Share,
    WorstCase,
    values_at,
    worst_values_of_draws,
)
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


# Those of the registry, and the example for contributors.
EVERY_WORST_CASE = (
    Share(0.2),
    GroupMixture(torch.arange(30) % 4, tuple("abcd"), ("region",)),
    ChiSquare(0.3),
    KullbackLeibler(0.3),
    Penalty(0.1),
    Mean(),
    Entropic(0.5),
)
NAMES = [type(worst_case).__name__ for worst_case in EVERY_WORST_CASE]


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=NAMES)
def test_given_weights_are_never_worse_than_the_worst_ones(worst_case: WorstCase) -> None:
    losses = torch.rand(30, dtype=torch.float64)
    weights, value = worst_weighting(losses, worst_case)
    # Weights that may be chosen: those of other losses, and mixtures of them.
    others = worst_case.maximiser(torch.rand(50, 30, dtype=torch.float64))
    nearby = 0.99 * weights + 0.01 * others
    found = values_at(torch.cat([weights[None], others, nearby]), losses, worst_case)
    assert found[0] == pytest.approx(value.item())
    assert (found[1:] <= value + 1e-12).all()
    assert isinstance(worst_case, Mean) or (found[1:] < value).any()


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=NAMES)
def test_the_worst_case_of_every_row_is_that_of_the_row_alone(worst_case: WorstCase) -> None:
    losses = torch.rand(30, dtype=torch.float64) * 3
    draws = torch.randint(30, (7, 30))
    expected = torch.stack([worst_values_of_draws(losses, row, worst_case) for row in draws])
    torch.testing.assert_close(worst_values_of_draws(losses, draws, worst_case), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=NAMES)
def test_the_gradient_is_the_worst_weights(worst_case: WorstCase) -> None:
    """Danskin's theorem, against finite differences: what all gradients of the solver rest on."""
    losses = torch.rand(30, dtype=torch.float64)
    weights = worst_weighting(losses, worst_case).weights
    h = 1e-6
    for at in range(30):
        step = torch.zeros_like(losses)
        step[at] = h
        above, below = (worst_weighting(losses + sign * step, worst_case).value.item() for sign in (1, -1))
        assert (above - below) / (2 * h) == pytest.approx(weights[at].item(), abs=1e-6)


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=NAMES)
def test_nothing_waits_for_an_accelerator(worst_case: WorstCase) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        weights, value = worst_weighting(torch.zeros(30, device="meta"), worst_case)
        assert isinstance(weights, FakeTensor)
        assert (weights.shape, value.shape, weights.dtype) == ((30,), (), torch.float64)


@pytest.mark.parametrize("worst_case", EVERY_WORST_CASE, ids=NAMES)
def test_it_says_what_is_protected(worst_case: WorstCase) -> None:
    sentence = worst_case.protects("churn", 2386)
    assert "2386 samples of churn" in sentence
    assert not sentence.endswith(".")


def test_a_worst_case_that_needs_no_task_is_the_same_for_all() -> None:
    task = Task("churn", ("yes",), torch.arange(3), torch.zeros(3, 1), groups=torch.zeros(3, dtype=torch.int64))
    worst_case = Penalty(0.1)
    assert worst_case_for(task, worst_case) is worst_case
    assert isinstance(worst_case_for(task, Groups("region")), GroupMixture)
