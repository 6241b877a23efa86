"""What a small problem with a known answer consists of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem

Closed = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    name: str
    problem: Problem
    f: Closed
    g: Sequence[Closed]
    starts: Sequence[Sequence[float]]
    x: Sequence[float] | None = None
    multipliers: Sequence[float] | None = None
    convex: bool = True
    accuracy: float = 1e-4  # to which x is determined by residuals of 1e-6
    single: bool = True  # whether residuals of 1e-4 can be had in float32


def t(values: Sequence[float] | Tensor, like: Tensor) -> Tensor:
    return torch.as_tensor(values).to(like.device, like.dtype)


def closed(
    name: str,
    f: Closed,
    g: Sequence[Closed],
    starts: Sequence[Sequence[float]],
    x: Sequence[float] | None = None,
    **more: Any,
) -> Case:
    """A case without inner maximisation."""
    return Case(name, Problem(f, constraints=[Constraint(one) for one in g]), f, g, starts, x, **more)
