"""The problems with published answers."""

import math

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem
from idbpd.optim.sets import Box, Simplex, Space
from tests.optim.bank.case import Case
from tests.optim.bank.forms import (
    disc,
    half_square,
    regularised_maximum,
)


def published() -> list[Case]:
    root5 = math.sqrt(5)
    lam = math.sqrt(1.25 / 3.25)
    in_disc = Constraint(lambda x, w: w @ x - 0.5 * w @ w - 0.5, Space(2))

    def pair(x: Tensor) -> Tensor:
        return torch.stack([half_square(x, [1, 0]), half_square(x, [-1, 0])])

    starts2 = [[0.0, 0.0], [1.0, 1.0], [-2.0, 0.5], [3.0, -4.0], [0.1, 5.0]]
    return [
        Case(
            "active",
            Problem(lambda x: half_square(x, [2, 1]), constraints=[in_disc]),
            lambda x: half_square(x, [2, 1]),
            [disc],
            starts2,
            [2 / root5, 1 / root5],
            [root5 - 1],
        ),
        Case(
            "inactive",
            Problem(lambda x: half_square(x, [0.3, -0.4]), constraints=[in_disc]),
            lambda x: half_square(x, [0.3, -0.4]),
            [disc],
            starts2,
            [0.3, -0.4],
            [0.0],
        ),
        Case(
            "robust_lp",
            Problem(
                lambda x: -x.sum(),
                constraints=[
                    Constraint(lambda x, w: x.sum() + w[0] * x[0] + 2 * w[1] * x[1] - 0.5 * w @ w - 1, Space(2))
                ],
            ),
            lambda x: -x.sum(),
            [lambda x: x.sum() + 0.5 * x[0] ** 2 + 2 * x[1] ** 2 - 1],
            starts2,
            [1 / lam - 1, (1 / lam - 1) / 4],
            [lam],
        ),
        Case(
            "nonconvex",
            Problem(
                lambda x: half_square(x, [0.25, 0.4]),
                constraints=[Constraint(lambda x, w: 1 - (x[0] - w) ** 2 - x[1] ** 2, Box(-1.0, 1.0))],
            ),
            lambda x: half_square(x, [0.25, 0.4]),
            [lambda x: 1 - (x[0].abs() - 1).clamp(min=0) ** 2 - x[1] ** 2],
            [[0.25, 0.5], [0.0, 0.0], [0.5, 2.0], [0.3, -0.2], [3.0, 0.0]],
            convex=False,
        ),
        Case(
            "min_max",
            Problem(
                lambda x, y: y @ pair(x) - 2 * (y - 0.5).square().sum(),
                Simplex(2),
                [Constraint(lambda x, w: 1 - x[0] + w * x[1] - 0.5 * w**2, Box(-1.0, 1.0))],
            ),
            lambda x: regularised_maximum(pair(x), 4.0),
            [lambda x: 1 - x[0] + torch.where(x[1].abs() <= 1, 0.5 * x[1] ** 2, x[1].abs() - 0.5)],
            starts2,
            [1.0, 0.0],
            [1.5],
        ),
        Case(
            "dro_constraint",
            Problem(
                lambda x: half_square(x, [3]),
                constraints=[
                    Constraint(
                        lambda x, w: (
                            w[0] * (x[0] - 1) ** 2 + w[1] * (x[0] + 1) ** 2 - 4 * (w - 0.5).square().sum() - 2.5
                        ),
                        Simplex(2),
                    )
                ],
            ),
            lambda x: half_square(x, [3]),
            [lambda x: regularised_maximum(torch.stack([(x[0] - 1) ** 2, (x[0] + 1) ** 2]), 8.0) - 2.5],
            [[0.0], [1.0], [3.0], [-2.0], [10.0]],
            [1.0],
            [2 / 3],
        ),
    ]
