"""Problems whose worst case at the answer is not unique, with answers derived by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem
from idbpd.optim.sets import Ball, Box, Simplex


@dataclass(frozen=True)
class Kink:
    name: str
    problem: Problem
    starts: Sequence[Sequence[float]]
    x: Sequence[float]
    f: float
    multipliers: Sequence[float] = ()
    y: Sequence[float] | None = None  # where it is unique
    concave: bool = True  # in y and w: then one mixture is a worst case


def like(x: Tensor, *rows: object) -> Tensor:
    return torch.tensor(rows, dtype=x.dtype).to(x.device)


def sides(n: int) -> Box:
    return Box(-torch.ones(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64))


INTERVAL = Box(torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64))


def parabolas(x: Tensor) -> Tensor:
    return torch.stack([(x - 1).square().sum(), (x + 1).square().sum()])


def planes(x: Tensor) -> Tensor:
    return torch.stack([x[0] + x[1], -x[0] + 0.5 * x[1], -x[1]])


def error(x: Tensor, t: Tensor) -> Tensor:
    """Of the line x0 + x1 t as an approximation of t^2."""
    return t[0] ** 2 - x[0] - x[1] * t[0]


def both(x: Tensor, w: Tensor) -> Tensor:
    return w @ torch.stack([x[0] + x[1], x[1] - x[0]]) - 1


def two_peaks(x: Tensor, y: Tensor) -> Tensor:
    """At y0 = -1 and 1, and each moves with x."""
    return -((y[0] ** 2 - 1) ** 2) + y[0] * x[0] + x[1] * y[1] - 0.5 * y[1] ** 2 - x[1]


KINKS = [
    # In f: a mixture of (x - 1) and (x + 1) vanishes at 0.
    Kink(
        "two parabolas",
        Problem(lambda x, y: y @ parabolas(x), Simplex(2)),
        [[0.3, 0.8], [-5.0, 20.0]],
        [0, 0],
        2,
        y=[0.5, 0.5],
    ),
    # |x0| + x1 + 1/2 ||x||^2.
    Kink(
        "modulus",
        Problem(lambda x, y: y[0] * x[0] + x[1] + 0.5 * x @ x, sides(1)),
        [[0.7, 0.8], [-40.0, 3.0]],
        [0, -1],
        -0.5,
        y=[0],
    ),
    # a1 = a2 and a1 + a2 / 2 = a3.
    Kink(
        "three planes",
        Problem(lambda x, y: y @ planes(x), Simplex(3)),
        [[0.7, 0.8], [-3.0, 1.0]],
        [0, 0],
        0,
        y=[2 / 7, 2 / 7, 3 / 7],
    ),
    # max_i |x_i| in three dimensions: six planes meet at 0.
    Kink(
        "six planes",
        Problem(lambda x, y: y @ torch.cat([x, -x]) + 0.5 * (x - 0.1).square().sum(), Simplex(6)),
        [[1.0, -2.0, 0.5], [0.3, 0.2, 0.1]],
        [0, 0, 0],
        0.015,
    ),
    # ||x||, a cone: 0.2 (x - 1) + y = 0 with y inside the ball.
    Kink(
        "cone",
        Problem(lambda x, y: 0.1 * (x - 1).square().sum() + y @ x, Ball(torch.zeros(2), 1.0)),
        [[0.7, 0.8], [-4.0, 9.0]],
        [0, 0],
        0.2,
        y=[0.2, 0.2],
    ),
    # In g: max(x0, x1) <= 1; 2 (x - 2) + 4 (1/2, 1/2) = 0.
    Kink(
        "corner",
        Problem(lambda x: (x - 2).square().sum(), constraints=[Constraint(lambda x, w: w @ x - 1, Simplex(2))]),
        [[0.0, 0.3], [8.0, 5.0]],
        [1, 1],
        2,
        [4],
    ),
    # ||x||_1 <= 1; (-1, -0.3) + 1 (1, 0.3) = 0.
    Kink(
        "diamond",
        Problem(
            lambda x: 0.5 * (x - like(x, 2, 0.3)).square().sum(),
            constraints=[Constraint(lambda x, w: w @ x - 1, sides(2))],
        ),
        [[3.0, 4.0], [0.0, 0.1]],
        [1, 0],
        0.545,
        [1],
    ),
    # In both, x1 + |x0| <= 1 under |x0| + (x1 - 2)^2, with a third constraint that is not active.
    Kink(
        "both",
        Problem(
            lambda x, y: y[0] * x[0] + (x[1] - 2) ** 2,
            sides(1),
            [Constraint(both, Simplex(2)), Constraint(lambda x: x @ x - 4)],
        ),
        [[0.9, -0.8], [3.0, 3.0]],
        [0, 1],
        1,
        [2, 0],
    ),
    # A kink in f on the edge of a smooth constraint: (y, 1) + 1/2 (0, -2) = 0.
    Kink(
        "disc",
        Problem(
            lambda x, y: y[0] * x[0] + x[1],
            sides(1),
            [Constraint(lambda x: x[0] ** 2 + (x[1] - 2) ** 2 - 1)],
        ),
        [[0.5, 1.5], [-3.0, -2.0]],
        [0, 1],
        1,
        [0.5],
        y=[0],
    ),
    # Crossed on the way: near the answer the first piece is alone.
    Kink(
        "crossed",
        Problem(
            lambda x, y: y @ torch.stack([0.5 * (x - like(x, 4, 0)).square().sum(), 20 * (1 - x[0]) + 0 * x[1]]),
            Simplex(2),
        ),
        [[-5.0, 3.0], [-1.0, 0.1]],
        [4, 0],
        0,
        y=[1, 0],
    ),
    # The best line for t^2 on [0, 1]: its error 1/8 is attained at 0, 1/2 and 1, with the weights 1/4, 1/2, 1/4.
    Kink(
        "chebyshev",
        Problem(lambda x, y: error(x, y) ** 2, INTERVAL),
        [[0.7, 0.8], [0.0, 0.0]],
        [-0.125, 1],
        1 / 64,
        y=[0.5],
        concave=False,
    ),
    # The same as a semi-infinite program. The first constraint has two worst cases, the second has one.
    Kink(
        "semi-infinite chebyshev",
        Problem(
            lambda x: x[2],
            constraints=[
                Constraint(lambda x, w: error(x, w) - x[2], INTERVAL),
                Constraint(lambda x, w: -error(x, w) - x[2], INTERVAL),
            ],
        ),
        [[0.7, 0.8, 3.0]],
        [-0.125, 1, 0.125],
        0.125,
        [0.5, 0.5],
        concave=False,
    ),
    # Both peaks attain x1^2 / 2 - x1 at x0 = 0. All curvature comes from how the worst case moves.
    Kink(
        "moving peaks",
        Problem(two_peaks, Box(like(torch.zeros(1).double(), -3, -5), like(torch.zeros(1).double(), 3, 5))),
        [[0.7, 0.8], [-1.5, 2.0]],
        [0, 1],
        -0.5,
        concave=False,
    ),
]
