"""Worst cases over every kind of set."""

import math

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem
from idbpd.optim.sets import Ball, Box, ChiSquareBall, Simplex, Space
from tests.optim.bank.case import Case, t
from tests.optim.bank.forms import (
    adversarial,
    ball_max,
    box_max,
    half_square,
    plain_maximum,
    regularised_maximum,
    square_box,
)


def _distributionally_robust(n: int, d: int, c: float, seed: int) -> list[Case]:
    """Quadratic losses of n samples in d variables; the price of uneven weights c decides how many samples count."""
    generator = torch.Generator().manual_seed(100 + seed)
    centres = torch.randn(n, d, generator=generator, dtype=torch.float64)
    weight = torch.randn(n, generator=generator, dtype=torch.float64).abs() + 0.2
    others = torch.randn(n, d, generator=generator, dtype=torch.float64) + 2

    def losses(x: Tensor) -> Tensor:
        return 0.5 * t(weight, x) * (x - t(centres, x)).square().sum(1)

    def other(x: Tensor) -> Tensor:
        return 0.5 * (x - t(others, x)).square().sum(1)

    level = 1.3 * float(regularised_maximum(other(others.mean(0)), c))

    def phi(x: Tensor, y: Tensor) -> Tensor:
        return y @ losses(x) - 0.5 * c * (y - 1 / n).square().sum()

    def psi(x: Tensor, w: Tensor) -> Tensor:
        return w @ other(x) - 0.5 * c * (w - 1 / n).square().sum() - level

    def f(x: Tensor) -> Tensor:
        return regularised_maximum(losses(x), c)

    def g(x: Tensor) -> Tensor:
        return regularised_maximum(other(x), c) - level

    def plain(x: Tensor) -> Tensor:
        return x.square().sum() - x.sum()

    starts = [[0.0] * d, [3.0] * d, [-5.0] * d]
    constraint = Constraint(psi, Simplex(n))
    return [
        Case(f"dro_objective_{n}_{c}", Problem(phi, Simplex(n)), f, [], starts),
        Case(f"dro_both_{n}_{c}", Problem(phi, Simplex(n), [constraint]), f, [g], starts),
        Case(f"dro_constraint_{n}_{c}", Problem(plain, constraints=[constraint]), plain, [g], starts),
    ]


def robust() -> list[Case]:
    """Worst cases over every kind of set, in objectives and constraints, alone and together."""
    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    cases: list[Case] = []
    starts3 = [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [-4.0, 3.0, 5.0]]

    cases.append(
        Case(
            "ball_norm",
            Problem(
                lambda x: half_square(x, [1, 2, 2]),
                constraints=[Constraint(lambda x, w: w @ x - 1, Ball(torch.zeros(3), 1.0))],
            ),
            lambda x: half_square(x, [1, 2, 2]),
            [lambda x: x.norm() - 1],
            [[0.1, 0.1, 0.1], *starts3[1:]],
            [1 / 3, 2 / 3, 2 / 3],
            [2.0],
        )
    )

    P = draw(3, 3)
    cases.append(
        Case(
            "ellipsoidal_lp",
            Problem(
                lambda x: -(x * t([1, 2, 3], x)).sum(),
                constraints=[
                    Constraint(
                        lambda x, w: t([1, 1, 1], x) @ x + (t(P, x) @ w) @ x - 0.05 * w @ w - 2,
                        Ball(torch.zeros(3), 1.0),
                    )
                ],
            ),
            lambda x: -(x * t([1, 2, 3], x)).sum(),
            [lambda x: x.sum() + ball_max(P.T @ x, 0.1) - 2],
            starts3,
        )
    )

    A, b = draw(6, 3), draw(6)
    cases.append(
        Case(
            "least_squares_by_duality",
            Problem(
                lambda x, y: y @ (t(A, x) @ x - t(b, x)) - 0.5 * y @ y,
                Space(6),
                [Constraint(lambda x, w: x.sum() + w * x[0] - w**2, Box(-1.0, 1.0))],
            ),
            lambda x: 0.5 * (A @ x - b).square().sum(),
            [lambda x: x.sum() + box_max(x[0], 2.0)],
            starts3,
        )
    )

    cases += [
        case
        for seed, (n, d, c) in enumerate(((5, 2, 1.0), (10, 3, 0.1), (20, 4, 5.0), (8, 2, 0.02)))
        for case in _distributionally_robust(n, d, c, seed)
    ]
    X, labels = draw(30, 3), torch.sign(draw(30))
    X2, labels2 = draw(30, 3), torch.sign(draw(30))

    def logistic(x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(-t(labels, x) * (t(X, x) @ x)) + 0.005 * x.square().sum()

    def logistic2(x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(-t(labels2, x) * (t(X2, x) @ x))

    cases.append(
        Case(
            "logistic_dro",
            Problem(
                lambda x, y: y @ logistic(x) - 3.0 * (y - 1 / 30).square().sum(),
                Simplex(30),
                [Constraint(lambda x, w: w @ logistic2(x) - 3.0 * (w - 1 / 30).square().sum() - 0.8, Simplex(30))],
            ),
            lambda x: regularised_maximum(logistic(x), 6.0),
            [lambda x: regularised_maximum(logistic2(x), 6.0) - 0.8],
            starts3,
        )
    )

    cases.append(
        Case(
            "adversarial_logistic",
            Problem(
                lambda x, y: (
                    torch.nn.functional.softplus(-t(labels, x) * ((t(X, x) + y) @ x)).mean() - 2 * y @ y + 0.05 * x @ x
                ),
                Space(3),
                [Constraint(lambda x, w: (x - w) @ (x - w) - 2 * w @ w - 1, Box(-torch.ones(3), torch.ones(3)))],
            ),
            lambda x: adversarial(x, X, labels),
            [lambda x: (x.square() + square_box(x)).sum() - 1],
            starts3,
        )
    )

    cases.append(
        Case(
            "three_kinds",
            Problem(
                lambda x, y: half_square(x, [1, 2, 3]) + y @ x - 0.5 * y @ y,
                Ball(torch.zeros(3), 0.5),
                [
                    Constraint(lambda x, w: w @ x - 0.5 * w @ w - 1.0, Space(3)),
                    Constraint(lambda x, w: x[0] + w * x[1] - w**2 - 0.3, Box(-0.5, 0.5)),
                    Constraint(lambda x: x[2] - 1.2),
                ],
            ),
            lambda x: half_square(x, [1, 2, 3]) + ball_max(x, 1.0, 0.5),
            [lambda x: 0.5 * x @ x - 1.0, lambda x: x[0] + box_max(x[1], 2.0, 0.5) - 0.3, lambda x: x[2] - 1.2],
            starts3,
        )
    )

    cases.append(
        Case(
            "nonconvex_robust",
            Problem(
                lambda x, y: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 + y * (x[0] + x[1]) - y**2,
                Box(-1.0, 1.0),
                [Constraint(lambda x, w: 0.5 - x[0] * x[1] + w * (x[0] - x[1]) - w**2, Box(-2.0, 2.0))],
            ),
            lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 + box_max(x[0] + x[1], 2.0),
            [lambda x: 0.5 - x[0] * x[1] + box_max(x[0] - x[1], 2.0, 2.0)],
            [[1.0, 1.0], [-1.0, -2.0], [0.5, 0.2], [2.0, -1.0]],
            convex=False,
        )
    )

    cases.append(
        Case(
            "reverse_semi_infinite",
            Problem(
                lambda x: half_square(x, [0.5, 0.2]),
                constraints=[
                    Constraint(
                        lambda x, w: 1 - (x[0] - w[0]) ** 2 - (x[1] - w[1]) ** 2, Box(-torch.ones(2), torch.ones(2))
                    )
                ],
            ),
            lambda x: half_square(x, [0.5, 0.2]),
            [lambda x: 1 - (x.abs() - 1).clamp(min=0).square().sum()],
            [[0.5, 0.2], [0.0, 0.0], [3.0, 3.0], [0.5, 1.5]],
            convex=False,
        )
    )

    cases.append(
        Case(
            "weights_and_worst_case",
            Problem(
                lambda x, y: y @ torch.stack([x[0] ** 2, (x[0] - x[1]) ** 2, (x[1] - 2) ** 2]) - 0.5 * y @ y,
                Simplex(3),
                [Constraint(lambda x, w: x[0] + w @ x - w @ w, Ball(torch.zeros(2), 1.0))],
            ),
            lambda x: plain_maximum(torch.stack([x[0] ** 2, (x[0] - x[1]) ** 2, (x[1] - 2) ** 2])),
            [lambda x: x[0] + ball_max(x, 2.0)],
            [[0.0, 0.0], [2.0, 2.0], [-3.0, 1.0]],
        )
    )
    cases.append(_near_uniform())
    return cases


def _near_uniform() -> Case:
    """Weights in a chi-square ball around the uniform ones: the mean plus a multiple of the standard deviation."""
    n, radius = 6, 0.05
    targets = torch.tensor([[1.0, 0.2], [0.8, -0.1], [1.2, 0.4], [0.5, 0.3], [1.5, -0.2], [0.9, 0.6]]).double()

    def losses(x: Tensor) -> Tensor:
        return (x - t(targets, x)).square().sum(1) + t([0.1, 0.2, 0.0, 0.3, 0.1, 0.2], x)

    def f(x: Tensor) -> Tensor:
        values = losses(x)
        spread: Tensor = torch.linalg.vector_norm(values - values.mean())
        worst: Tensor = values.mean() + math.sqrt(2 * radius / n) * spread
        return worst

    problem = Problem(
        lambda x, y: y @ losses(x),
        ChiSquareBall(n, radius),
        [Constraint(lambda x, w: w * x[0] - w**2 - 0.05, Box(0.0, 1.0))],
    )
    return Case(
        "near_uniform",
        problem,
        f,
        [lambda x: box_max(x[0].clamp(min=0), 2.0) - 0.05],
        [[0.0, 0.0], [2.0, 2.0], [-3.0, 1.0]],
    )
