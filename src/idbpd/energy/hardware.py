"""What a network costs on a piece of hardware, and on the worst one of a set.

The energy of one answer is linear in what single operations cost: energy(a, h) = a . h, with counts a of
multiplications, additions, words to or from the memory on the chip, and words from the memory outside of it. The costs
h are those of somebody else's chip, so that they are uncertain:

    ball:  || (h - h0) / h0 || <= r        worst energy  a . h0 + r || a h0 ||     (an ellipsoid around the table)
    box:   | h - h0 | <= r h0              worst energy  (1 + r) a . h0

The maximisers are exact, because counts are not negative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from idbpd.errors import ConfigurationError

OPERATIONS = ("multiply", "add", "on_chip", "off_chip")


class Costs(NamedTuple):
    """Picojoules per operation on 32-bit numbers, in 45 nm at 0.9 V.

    M. Horowitz, Computing's energy problem (and what we can do about it), ISSCC 2014: floating-point multiplication
    3.7 and addition 0.9; a cache of 8 KB 10 for 64 bits, so 5 for a word; DRAM 1300 to 2600 for 64 bits. For a word of
    DRAM this is 640, as in S. Han, J. Pool, J. Tran and W. Dally, Learning both weights and connections for efficient
    neural networks, NIPS 2015, figure 1.
    """

    multiply: float = 3.7
    add: float = 0.9
    on_chip: float = 5.0
    off_chip: float = 640.0


TABLE = Costs()


@dataclass(frozen=True)
class Hardware:
    """The costs of operations, uncertain in a ball or a box around a table."""

    costs: Costs = TABLE
    shape: Literal["ball", "box"] = "ball"
    radius: float = 0.3

    def __post_init__(self) -> None:
        """Refuse a set with energies that are not positive: no operation gives energy back."""
        for name, cost in self.costs._asdict().items():
            if not 0 < cost < math.inf:
                raise ConfigurationError(f"the cost of {name!r} is {cost:g} pJ; it must be positive and finite")
        if not 0 <= self.radius < 1:
            lowest = min(cost * (1 - self.radius) for cost in self.costs)
            raise ConfigurationError(
                f"the {self.shape} of radius {self.radius:g} around the costs contains negative energies (down to "
                f"{lowest:g} pJ per operation); choose a radius from 0 to below 1"
            )

    def worst(self, counts: Tensor) -> Tensor:
        """The costs in the set with which these counts need most energy; float64."""
        table = torch.tensor(self.costs, dtype=torch.float64, device=counts.device)
        if self.shape == "box":
            return table * (1 + self.radius)
        energies = counts.to(torch.float64) * table
        length: Tensor = torch.linalg.vector_norm(energies)
        return table * (1 + self.radius * energies / length.clamp(min=torch.finfo(torch.float64).tiny))

    def worst_energy(self, counts: Tensor) -> Tensor:
        """The energy of these counts on the worst hardware, in picojoules; float64."""
        return (counts.to(torch.float64) * self.worst(counts)).sum()


class Counts(NamedTuple):
    """How often each operation is done for one answer."""

    multiply: float
    add: float
    on_chip: float
    off_chip: float

    @classmethod
    def of_weight(cls, uses: float) -> "Counts":
        """Of one weight that is not zero.

        It comes from the memory outside once. Each use reads it and an activation on the chip, multiplies and adds;
        the sum stays in a register. A bias is a weight of the constant input 1.
        """
        return cls(uses, uses, 2 * uses, 1)

    @classmethod
    def of_activations(cls, activations: float) -> "Counts":
        """Of moving activations into a layer or out of it, once each, on the chip; zero or not."""
        return cls(0, 0, activations, 0)


def counted(parts: Sequence[Counts]) -> Tensor:
    """(parts, operations) as a matrix; float64."""
    return torch.tensor(parts, dtype=torch.float64).reshape(-1, len(OPERATIONS))
