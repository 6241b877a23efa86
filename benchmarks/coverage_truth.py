"""Losses whose worst case is known: what the bounds of benchmarks/coverage.py are compared with.

A distribution is the loss as a function of the survival probability, uniform in (0, 1]: small for large losses, so
that the tail is computed without cancellation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from idbpd.mtl import Penalty, WorstCase, worst_weighting
from idbpd.mtl.bounds import Dual
from idbpd.mtl.worst_cases import Mean, Share

Distribution = Callable[[Tensor], Tensor]


def _mixture(rare: float, large: float) -> Distribution:
    """Small losses of mean 0.2, and a share ``rare`` of losses above ``large``, by 1 on average."""

    def losses(survival: Tensor) -> Tensor:
        small = -0.2 * ((survival - rare) / (1 - rare)).clamp(min=1e-300).log()
        return torch.where(survival < rare, large - (survival / rare).log(), small)

    return losses


def _scaled(distribution: Distribution, factor: float) -> Distribution:
    return lambda survival: factor * distribution(survival)


DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": lambda survival: 1 - survival,
    "exponential": lambda survival: -survival.log(),
    "5 % large": _mixture(0.05, 2.0),
    "1 % large": _mixture(0.01, 4.0),
    "lognormal": lambda survival: (-torch.special.ndtri(survival)).exp(),
}


# Not looked at when the bound in use was chosen.
HELD_BACK: dict[str, Distribution] = {
    "two values": lambda survival: torch.where(survival < 0.1, 2.3, 0.1).double(),
    "Weibull 0.6": lambda survival: (-survival.log()) ** (1 / 0.6),
    "Pareto 3": lambda survival: survival ** (-1 / 3) - 1,
    "0.5 % large": _mixture(0.005, 8.0),
}
# The losses of a model under a limit, and of one made for the task alone.
PAIRS: dict[str, tuple[Distribution, Distribution]] = {
    name: (_scaled(distribution, 1.1), distribution)
    for name, distribution in DISTRIBUTIONS.items()
    if name in ("exponential", "1 % large", "lognormal")
}
PAIRS["1 % large, alone none"] = (DISTRIBUTIONS["1 % large"], _scaled(DISTRIBUTIONS["exponential"], 0.2))
# Where losses are clipped for the bounds that need bounded ones.
CAP = {"uniform": 1.0, "exponential": 5.0, "5 % large": 5.0, "1 % large": 5.0, "lognormal": 5.0}


def draw(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Survival probabilities: uniform in (0, 1]."""
    return 1 - torch.rand(shape, generator=generator, dtype=torch.float64)


def draw_pairs(
    n: int, others: int, correlation: float, seed: int
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Survival probabilities of two models with correlated normal scores: on n samples, and on so many others."""
    generator = torch.Generator().manual_seed(seed)
    first, other = torch.randn(2, n + others, generator=generator, dtype=torch.float64)
    second = correlation * first + (1 - correlation**2) ** 0.5 * other
    (test, training), (test_of_second, training_of_second) = (
        torch.special.ndtr(-each).split([n, others]) for each in (first, second)
    )
    return (test, test_of_second), (training, training_of_second)


@final
@dataclass(frozen=True)
class SortedShare:
    """The mean of the worst ``share``, of losses in descending order."""

    share: float

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """1 / (share n) for the first ones, and what is left for the last of them."""
        n = losses.shape[-1]
        place = torch.arange(n, dtype=losses.dtype)
        return ((self.share * n - place).clamp(0, 1) / (self.share * n)).expand_as(losses)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Nothing."""
        return torch.zeros_like(weights[..., 0])

    def protects(self, task: str, size: int) -> str:
        """As the product says it."""
        return Share(self.share).protects(task, size)


@final
@dataclass(frozen=True)
class SortedPenalty:
    """`idbpd.mtl.Penalty` of losses in descending order: without its sort it takes a fifth of the time."""

    regularisation: float

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """[l - eta]_+ / (lambda n)."""
        n = losses.shape[-1]
        total = losses.cumsum(dim=-1)
        eta = ((total - self.regularisation * n) / torch.arange(1, n + 1, dtype=losses.dtype)).amax(-1, keepdim=True)
        return (losses - eta).relu_() / (self.regularisation * n)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """That of the penalty."""
        n = weights.shape[-1]
        # The weights sum to one.
        return self.regularisation / 2 * (n * (weights**2).sum(dim=-1) - 1)

    def protects(self, task: str, size: int) -> str:
        """As the product says it."""
        return Penalty(self.regularisation).protects(task, size)


WORST_CASES: dict[str, WorstCase] = {
    "mean": Mean(),
    "share 0.2": SortedShare(0.2),
    "penalty 1": SortedPenalty(1.0),
    "penalty 0.1": SortedPenalty(0.1),
}


def best_dual(worst_case: WorstCase) -> Dual | None:
    """That of a penalty or a share; the mean needs none."""
    match worst_case:
        case SortedShare(share):
            return Dual.of_share(share)
        case SortedPenalty(regularisation):
            return Dual.of_penalty(regularisation)
        case _:
            return None


def check_penalties() -> None:
    """The penalty without a sort is that of the product."""
    losses = torch.empty(300, dtype=torch.float64).exponential_().sort(descending=True).values
    for regularisation in (1.0, 0.1):
        ours, product = (worst_weighting(losses, each(regularisation)) for each in (SortedPenalty, Penalty))
        torch.testing.assert_close(ours.weights, product.weights, rtol=1e-10, atol=1e-14)
        torch.testing.assert_close(ours.value, product.value, rtol=1e-12, atol=0)


def true_value(distribution: Distribution, worst_case: WorstCase, cap: float = torch.inf) -> float:
    """The worst case of the distribution of min(loss, cap), by quadrature with nodes that are denser in the tail."""
    cells = 400_000
    # The survival falls by the same factor from cell to cell, down to 1e-18.
    edges = torch.logspace(0, -18, cells + 1, dtype=torch.float64)
    masses = -edges.diff()
    masses[-1] += edges[-1]
    losses, order = distribution((edges[1:] + edges[:-1]) / 2).clamp(max=cap).sort(descending=True)
    masses = masses[order]
    match worst_case:
        case SortedShare(share):
            weights = (share - (masses.cumsum(0) - masses)).clamp(min=0).minimum(masses) / share
            return (weights @ losses).item()
        case SortedPenalty(regularisation):
            eta = (((masses * losses).cumsum(0) - regularisation) / masses.cumsum(0)).amax()
            return (eta + regularisation / 2 + masses @ (losses - eta).relu() ** 2 / (2 * regularisation)).item()
        case _:
            return (masses @ losses).item()
