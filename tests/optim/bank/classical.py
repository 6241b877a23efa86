"""Classical nonlinear programs with inequality constraints."""

import math

from tests.optim.bank.case import Case, closed


def classical() -> list[Case]:
    """Nonlinear programs with inequality constraints, several of them, from the collection of Hock and Schittkowski."""
    return [
        closed(
            "hs12",
            lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1],
            [lambda x: 4 * x[0] ** 2 + x[1] ** 2 - 25],
            [[0, 0], [5, 5], [-3, 1]],
            [2, 3],
        ),
        closed(
            "hs22",
            lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
            [lambda x: x[0] + x[1] - 2, lambda x: x[0] ** 2 - x[1]],
            [[2, 2], [0, 0], [-3, 4]],
            [1, 1],
        ),
        closed(
            "hs43",
            lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
            [
                lambda x: x @ x + x[0] - x[1] + x[2] - x[3] - 8,
                lambda x: x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
                lambda x: 2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5,
            ],
            [[0, 0, 0, 0], [1, 1, 1, 1], [3, -3, 3, -3]],
            [0, 1, 2, -1],
        ),
        closed(
            "hs35",
            lambda x: (
                9
                - 8 * x[0]
                - 6 * x[1]
                - 4 * x[2]
                + 2 * x[0] ** 2
                + 2 * x[1] ** 2
                + x[2] ** 2
                + 2 * x[0] * x[1]
                + 2 * x[0] * x[2]
            ),
            [lambda x: x[0] + x[1] + 2 * x[2] - 3, lambda x: -x[0], lambda x: -x[1], lambda x: -x[2]],
            [[0.5, 0.5, 0.5], [0, 0, 0], [5, -5, 2]],
            [4 / 3, 7 / 9, 4 / 9],
        ),
        closed(
            "hs65",
            lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2,
            [lambda x: x @ x - 48, lambda x: x[0] - 4.5, lambda x: x[1] - 4.5, lambda x: x[2] - 5],
            [[-5, 5, 0], [0, 0, 0], [10, 10, 10]],
        ),
        closed(
            "hs76",
            lambda x: (
                x[0] ** 2
                + 0.5 * x[1] ** 2
                + x[2] ** 2
                + 0.5 * x[3] ** 2
                - x[0] * x[2]
                + x[2] * x[3]
                - x[0]
                - 3 * x[1]
                + x[2]
                - x[3]
            ),
            [
                lambda x: x[0] + 2 * x[1] + x[2] + x[3] - 5,
                lambda x: 3 * x[0] + x[1] + 2 * x[2] - x[3] - 4,
                lambda x: 1.5 - x[1] - 4 * x[2],
                lambda x: -x[0],
                lambda x: -x[1],
                lambda x: -x[2],
                lambda x: -x[3],
            ],
            [[0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0], [4, -1, 2, -2]],
        ),
        closed(
            "hs100",
            lambda x: (
                (x[0] - 10) ** 2
                + 5 * (x[1] - 12) ** 2
                + x[2] ** 4
                + 3 * (x[3] - 11) ** 2
                + 10 * x[4] ** 6
                + 7 * x[5] ** 2
                + x[6] ** 4
                - 4 * x[5] * x[6]
                - 10 * x[5]
                - 8 * x[6]
            ),
            [
                lambda x: 2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4] - 127,
                lambda x: 7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] - 282,
                lambda x: 23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] - 196,
                lambda x: 4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6],
            ],
            [[1, 2, 0, 4, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]],
        ),
        closed(
            "hs113",
            lambda x: (
                x[0] ** 2
                + x[1] ** 2
                + x[0] * x[1]
                - 14 * x[0]
                - 16 * x[1]
                + (x[2] - 10) ** 2
                + 4 * (x[3] - 5) ** 2
                + (x[4] - 3) ** 2
                + 2 * (x[5] - 1) ** 2
                + 5 * x[6] ** 2
                + 7 * (x[7] - 11) ** 2
                + 2 * (x[8] - 10) ** 2
                + (x[9] - 7) ** 2
                + 45
            ),
            [
                lambda x: 4 * x[0] + 5 * x[1] - 3 * x[6] + 9 * x[7] - 105,
                lambda x: 10 * x[0] - 8 * x[1] - 17 * x[6] + 2 * x[7],
                lambda x: -8 * x[0] + 2 * x[1] + 5 * x[8] - 2 * x[9] - 12,
                lambda x: 3 * (x[0] - 2) ** 2 + 4 * (x[1] - 3) ** 2 + 2 * x[2] ** 2 - 7 * x[3] - 120,
                lambda x: 5 * x[0] ** 2 + 8 * x[1] + (x[2] - 6) ** 2 - 2 * x[3] - 40,
                lambda x: 0.5 * (x[0] - 8) ** 2 + 2 * (x[1] - 4) ** 2 + 3 * x[4] ** 2 - x[5] - 30,
                lambda x: x[0] ** 2 + 2 * (x[1] - 2) ** 2 - 2 * x[0] * x[1] + 14 * x[4] - 6 * x[5],
                lambda x: -3 * x[0] + 6 * x[1] + 12 * (x[8] - 8) ** 2 - 7 * x[9],
            ],
            [[2, 3, 5, 5, 1, 2, 7, 3, 6, 10], [0.0] * 10],
        ),
        closed(
            "hs29",
            lambda x: -x[0] * x[1] * x[2],
            [lambda x: x[0] ** 2 + 2 * x[1] ** 2 + 4 * x[2] ** 2 - 48],
            [[1, 1, 1], [4, -2, -1], [0.1, 3, 3]],
            convex=False,
        ),
        closed(
            "hs64",
            lambda x: 5 * x[0] + 50000 / x[0] + 20 * x[1] + 72000 / x[1] + 10 * x[2] + 144000 / x[2],
            [
                lambda x: 4 / x[0] + 32 / x[1] + 120 / x[2] - 1,
                lambda x: 1e-5 - x[0],
                lambda x: 1e-5 - x[1],
                lambda x: 1e-5 - x[2],
            ],
            [[100, 100, 200], [50, 80, 300]],
        ),
        closed(
            "hs66",
            lambda x: 0.2 * x[2] - 0.8 * x[0],
            [
                lambda x: x[0].exp() - x[1],
                lambda x: x[1].exp() - x[2],
                lambda x: -x[0],
                lambda x: x[0] - 100,
                lambda x: -x[1],
                lambda x: x[1] - 100,
                lambda x: -x[2],
                lambda x: x[2] - 10,
            ],
            [[0, 1.05, 2.9], [0, 0, 0], [1, 1, 1]],
        ),
        closed(
            "hs24",
            lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * math.sqrt(3)),
            [
                lambda x: x[1] - x[0] / math.sqrt(3),
                lambda x: -x[0] - math.sqrt(3) * x[1],
                lambda x: x[0] + math.sqrt(3) * x[1] - 6,
                lambda x: -x[0],
                lambda x: -x[1],
            ],
            [[1, 0.5], [2, 1], [4, 1]],
            convex=False,
        ),
        closed(
            "rosenbrock_disc",
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
            [lambda x: x @ x - 1],
            [[-1.2, 1.0], [0, 0], [2, 2], [-1, -1]],
            convex=False,
        ),
        closed(
            "rosenbrock_free",
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
            [],
            [[-1.2, 1.0], [0, 0], [5, -5]],
            [1, 1],
        ),
        closed(
            "rosenbrock_line",
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
            [lambda x: x[0] + x[1] - 1.0],
            [[-1.2, 1.0], [0, 0], [3, 1]],
            convex=False,
        ),
    ]
