"""The units in which a run computes, and what its numbers are in the units of the user.

Inside of a run x is divided by a size per variable, and every function is multiplied by a factor. All factors are
powers of two: the way there and back costs no digit, and a factor of one changes nothing.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.bounds import Sides
from idbpd.optim.kkt import Residuals, lagrangian_gradient
from idbpd.optim.oracle import Evaluation, Gradients, sizes


class Scaling(NamedTuple):
    """Factors by which functions are multiplied, and sizes by which variables are divided; empty or None: ones."""

    objective: float = 1.0
    constraints: tuple[float, ...] = ()  # of g, those of the equalities last
    x: Tensor | None = None  # (d,)
    is_relative: bool = False  # whether residuals are judged in these units alone, and not in those of the user too

    @property
    def is_plain(self) -> bool:
        """Whether nothing is scaled."""
        return self.x is None and all(factor == 1.0 for factor in (self.objective, *self.constraints))

    def factor(self, constraint: int) -> float:
        """That of one of g."""
        return self.constraints[constraint] if self.constraints else 1.0

    def inward(self, x: Tensor) -> Tensor:
        """The user's x as the run sees it."""
        return x if self.x is None else x / self.x

    def outward(self, x: Tensor) -> Tensor:
        """The run's x as the user sees it."""
        return x if self.x is None else x * self.x


class UserUnits(NamedTuple):
    """What is known of a point, in the units of the user."""

    x: Tensor  # (d,)
    f: Tensor
    g: Tensor  # (c,) of the inequalities
    h: Tensor  # of the equalities
    multipliers: Tensor
    equality_multipliers: Tensor
    bound_multipliers: Tensor | None  # (d,)
    residuals: Residuals


def in_user_units(
    evaluation: Evaluation,
    gradients: Gradients,
    multipliers: Tensor,
    found: Residuals,
    scaling: Scaling,
    sides: Sides | None,
) -> UserUnits:
    """A point of a run with its certificate, as it is without any scaling; nothing here waits for a device."""
    f, g, equalities = evaluation.f, evaluation.g, evaluation.equalities
    pressing = None if sides is None and scaling.is_plain else lagrangian_gradient(gradients, multipliers)
    if not scaling.is_plain and pressing is not None:
        f = f / scaling.objective
        factors = g.new_tensor([scaling.factor(i) for i in range(g.numel())])
        g, multipliers = g / factors, multipliers * factors / scaling.objective
        pressing = pressing / scaling.objective
        pressing = pressing if scaling.x is None else pressing / scaling.x
        stationarity = torch.linalg.vector_norm(pressing if sides is None else sides.left(pressing))
        if scaling.x is None:  # exactly what was found, with several worst cases too
            stationarity = found.stationarity / scaling.objective
        infeasibility = sizes(g, equalities).clamp(min=0).amax() if g.numel() else found.infeasibility
        found = Residuals(stationarity, infeasibility, found.slackness / scaling.objective)
    held = None if sides is None or pressing is None else pressing - sides.left(pressing)
    c = g.numel() - equalities
    x = scaling.outward(evaluation.x)
    return UserUnits(x, f, g[:c], g[c:], multipliers[:c], multipliers[c:], held, found)


def power_of_two(size: float) -> float:
    """The power of two next to a size."""
    return 2.0 ** round(math.log2(size))
