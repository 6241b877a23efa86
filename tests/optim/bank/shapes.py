"""Corner cases of constrained minimisation."""

import math

import torch
from torch import Tensor

from tests.optim.bank.case import Case, closed
from tests.optim.bank.forms import (
    disc,
    half_square,
)


def shapes() -> list[Case]:
    """Redundant, duplicated and degenerate constraints, domains with an edge, bad scales, nearly flat functions."""
    cases = [
        closed(
            "duplicated",
            lambda x: half_square(x, [2, 1]),
            [disc] * 3,
            [[0, 0], [3, 1], [-2, -2]],
            [2 / math.sqrt(5), 1 / math.sqrt(5)],
        ),
        closed(
            "redundant",
            lambda x: half_square(x, [2, 1]),
            [disc, lambda x: x[0] - 5, lambda x: 0.25 * x @ x - 2],
            [[0, 0], [3, 1], [-2, -2]],
            [2 / math.sqrt(5), 1 / math.sqrt(5)],
            multipliers=[math.sqrt(5) - 1, 0, 0],
        ),
        closed(
            "equality_pair",
            lambda x: half_square(x, [2, 1]),
            [lambda x: x[0] + x[1] - 1, lambda x: 1 - x[0] - x[1]],
            [[0, 0], [3, 1], [-2, -2]],
            [1, 0],
        ),
        closed(
            "curved_equality_pair",
            lambda x: half_square(x, [2, 1]),
            [lambda x: x @ x - 1, lambda x: 1 - x @ x],
            [[1, 0], [3, 1], [0.5, -0.2]],
            [2 / math.sqrt(5), 1 / math.sqrt(5)],
            convex=False,
        ),
        closed(
            "vertex_lp",
            lambda x: -x[0] - 2 * x[1],
            [lambda x: x[0] - 1, lambda x: -x[0] - 1, lambda x: x[1] - 1, lambda x: -x[1] - 1],
            [[0, 0], [5, 5], [-3, 2]],
            [1, 1],
            multipliers=[1, 0, 2, 0],
        ),
        closed(
            "degenerate_vertex",
            lambda x: -x[0] - 2 * x[1],
            [lambda x: x[0] - 1, lambda x: x[1] - 1, lambda x: x[0] + x[1] - 2],
            [[0, 0], [5, 5], [-3, 2]],
            [1, 1],
        ),
        closed(
            "more_constraints_than_variables",
            lambda x: (x[0] - 3) ** 2,
            [lambda x: x[0] - 2, lambda x: x[0] ** 2 - 2, lambda x: x[0].exp() - 10, lambda x: -x[0] - 1],
            [[0.0], [4.0], [-3.0]],
            [math.sqrt(2)],
        ),
        closed(
            "log_domain",
            lambda x: -x.log().sum(),
            [lambda x: x.sum() - 1],
            [[0.2, 0.1, 0.3], [0.9, 0.9, 0.9], [3, 1, 0.01]],
            [1 / 3] * 3,
        ),
        closed(
            "entropy_domain",
            lambda x: (x * x.log()).sum(),
            [lambda x: 1 - x.sum(), lambda x: x[0] - 0.1],
            [[0.5, 0.5, 0.5], [1e-3, 2, 1], [5, 5, 5]],
        ),
        closed(
            "sqrt_domain",
            lambda x: x[0] - 2 * x[0].sqrt() + x[1] ** 2,
            [lambda x: x[0] - 0.5 + x[1]],
            [[0.1, 0], [4, 1], [0.01, -2]],
        ),
        closed(
            "start_at_optimum",
            lambda x: half_square(x, [2, 0]),
            [lambda x: x[0] - 1],
            [[1, 0]],
            [1, 0],
            multipliers=[1],
        ),
        closed(
            "flat_then_steep",
            lambda x: (x[0] - 1) ** 4 + (x[1] + 1) ** 2,
            [lambda x: x[0] + x[1] ** 2 - 0.5],
            [[0, 0], [2, 2], [-4, 1]],
        ),
        closed(
            "exponential",
            lambda x: x.exp().sum(),
            [lambda x: 1 - x[0] - x[1], lambda x: x[0] ** 2 - 4],
            [[0, 0], [5, 5], [-6, 3]],
            [0.5, 0.5],
        ),
        closed(
            "ill_conditioned",
            lambda x: 0.5 * (x * x * torch.tensor([1e-2, 1.0, 1e4], dtype=x.dtype)).sum() - x.sum(),
            [lambda x: x[0] + x[1] + x[2] - 3],
            [[0, 0, 0], [10, 1, -1]],
        ),
        closed(
            "reverse_ball",
            lambda x: half_square(x, [0.3, 0.1]),
            [lambda x: 1 - x @ x],
            [[0.3, 0.1], [2, 2], [0.01, 0]],
            convex=False,
        ),
        closed(
            "sine_strip",
            lambda x: x[0] ** 2 + (x[1] - 1) ** 2,
            [lambda x: x[1] - (3 * x[0]).sin()],
            [[0, 0], [1, 1], [-1, -1], [2, 5]],
            convex=False,
        ),
        closed(
            "two_discs",
            lambda x: x[1],
            [lambda x: x @ x - 1, lambda x: (x[0] - 1) ** 2 + x[1] ** 2 - 1],
            [[0.5, 0], [3, 3], [-2, -1]],
            [0.5, -math.sqrt(0.75)],
        ),
        closed(
            "barely_feasible",
            lambda x: x[0] + x[1],
            [lambda x: x @ x - 1, lambda x: (x[0] - 1.999) ** 2 + x[1] ** 2 - 1],
            [[0.5, 0.5], [3, 3], [-2, -1]],
        ),
        closed(
            "unconstrained_quadratic",
            lambda x: half_square(x, list(range(30))) + 50 * x[:15].square().sum(),
            [],
            [[0.0] * 30],
        ),
        closed(
            "kinked_gradient",
            lambda x: 0.5 * x[0].clamp(min=0) ** 2 * 10 + 0.5 * x[0] ** 2 + (x[1] - x[0]) ** 2 + x[0],
            [lambda x: -x[1] - 0.05],
            [[1, 1], [-3, 2], [4, -4]],
        ),
    ]
    return cases + [case for power in (-4, -2, 2, 4) for case in _scaled(power)]


def _scaled(power: int) -> list[Case]:
    """The same problem with its objective, its constraint or its variables in other units."""
    s = 10.0**power
    answer = [2 / math.sqrt(5), 1 / math.sqrt(5)]
    # Residuals of 1e-6 say little about x where the gradients themselves are of the order of 1e-4.
    accuracy = 1e-4 if power > -4 else 1e-1
    starts = [[0, 0], [3, 1]]

    def objective(x: Tensor) -> Tensor:
        return half_square(x, [2, 1])

    return [
        closed(
            f"scaled_objective_1e{power}",
            lambda x: s * objective(x),
            [disc],
            starts,
            answer,
            accuracy=accuracy,
            single=abs(power) < 4,
        ),
        closed(f"scaled_constraint_1e{power}", objective, [lambda x: s * disc(x)], starts, answer, accuracy=accuracy),
        closed(
            f"scaled_variables_1e{power}",
            lambda x: objective(x / s),
            [lambda x: disc(x / s)],
            [[0, 0], [3 * s, s]],
            [s * x for x in answer],
            accuracy=1e-4 if power < 4 else 1e-2,
        ),
    ]
