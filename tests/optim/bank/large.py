"""Problems with many variables, or with many worst cases at once, and random semi-infinite ones."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem
from idbpd.optim.sets import Box, Simplex

DOUBLE = torch.float64


class Large(NamedTuple):
    problem: Problem
    start: Tensor
    f: float  # the least value


def goffin() -> Large:
    """50 times the largest entry minus the sum: all fifty worst cases are active at the answer."""
    n = 50
    start = torch.arange(1, n + 1, dtype=DOUBLE) - (n + 1) / 2
    return Large(Problem(lambda x, y: n * (y @ x) - x.sum(), over=Simplex(n)), start, 0.0)


def box_over_a_simplex(n: int = 50) -> Large:
    """The projection onto a cube, all of whose sides are one constraint."""
    a = 2 * torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=DOUBLE)
    sides = Constraint(lambda x, w: w @ torch.cat([x - 1, -x - 1]), over=Simplex(2 * n))
    problem = Problem(lambda x: 0.5 * (x - a).square().sum(), constraints=[sides])
    return Large(problem, torch.zeros(n, dtype=DOUBLE), 0.5 * float((a.clamp(-1, 1) - a).square().sum()))


def projection_onto_an_l1_ball(n: int = 20) -> Large:
    """The norm as the worst case over all vectors of signs."""
    a = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=DOUBLE)
    radius = 0.3 * float(a.abs().sum())
    sizes = a.abs().sort(descending=True).values
    excess = (sizes.cumsum(0) - radius) / torch.arange(1, n + 1)
    threshold = excess[int((sizes > excess).sum()) - 1]
    moved = a.abs().clamp(max=threshold)
    signs = Box(-torch.ones(n, dtype=DOUBLE), 1.0)
    problem = Problem(
        lambda x: 0.5 * (x - a).square().sum(), constraints=[Constraint(lambda x, w: w @ x - radius, over=signs)]
    )
    return Large(problem, torch.zeros(n, dtype=DOUBLE), 0.5 * float(moved.square().sum()))


def weighted_projection(n: int = 100_000) -> Large:
    """Onto a ball, with weights from 1 to 100."""
    a = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=DOUBLE)
    weights = torch.logspace(0, 2, n, dtype=DOUBLE)
    low, high = 0.0, 1e3
    for _ in range(60):  # the multiplier, by bisection
        middle = 0.5 * (low + high)
        x = weights * a / (weights + 2 * middle)
        low, high = (middle, high) if float(x @ x) > n / 4 else (low, middle)
    problem = Problem(
        lambda v: 0.5 * (weights * (v - a).square()).sum(), constraints=[Constraint(lambda v: v @ v - n / 4)]
    )
    return Large(problem, torch.zeros(n, dtype=DOUBLE), 0.5 * float((weights * (x - a).square()).sum()))


def enclosing_ball(n: int = 100_000) -> Large:
    """Of the corners of a simplex in n dimensions: the answer is their mean."""
    corners = 6
    points = torch.zeros(corners, n, dtype=DOUBLE)
    points[:, :corners] = torch.eye(corners, dtype=DOUBLE)
    start = torch.linspace(0.0, 1e-2, n, dtype=DOUBLE)
    problem = Problem(lambda x, y: y @ (points - x).square().sum(1), over=Simplex(corners))
    return Large(problem, start, 1 - 1 / corners)


LARGE: dict[str, Callable[[], Large]] = {
    "goffin": goffin,
    "box over a simplex": box_over_a_simplex,
    "l1 ball": projection_onto_an_l1_ball,
    "l1 ball of 100": lambda: projection_onto_an_l1_ball(100),
    "l1 ball of 1000": lambda: projection_onto_an_l1_ball(1000),
    "large box over a simplex": lambda: box_over_a_simplex(150),
    "weighted projection": weighted_projection,
    "enclosing ball": enclosing_ball,
}


def random_semi_infinite(seed: int) -> tuple[Problem, Tensor]:
    """A convex quadratic under one to three constraints that are convex in x and smooth in w."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=DOUBLE)

    def one_of(low: int, high: int) -> int:
        return int(torch.randint(low, high, (), generator=random))

    d, count, n = one_of(5, 21), one_of(1, 4), one_of(1, 3)
    root, free = normal(d, d) / math.sqrt(d), 2 * normal(d)
    Q = root @ root.T + 0.1 * torch.eye(d, dtype=DOUBLE)
    constraints = [_constraint(one_of(0, 3), normal(d), 1.5 * normal(d, n)) for _ in range(count)]
    return Problem(lambda x: 0.5 * (x - free) @ Q @ (x - free), constraints=constraints), torch.zeros(d, dtype=DOUBLE)


def _constraint(kind: int, phase: Tensor, frequency: Tensor) -> Constraint:
    box = Box(torch.zeros(frequency.shape[1], dtype=DOUBLE), 2.0)

    def wave(x: Tensor, w: Tensor) -> Tensor:
        return (x * torch.cos(frequency @ w + phase)).sum()

    if kind == 0:
        return Constraint(lambda x, w: wave(x, w) - 1, box)
    if kind == 1:
        return Constraint(lambda x, w: wave(x, w) ** 2 - 1, box)
    return Constraint(lambda x, w: wave(x, w) - 1 - 0.3 * torch.sin(3 * w).sum() + 0.1 * (x**2).sum(), box)
