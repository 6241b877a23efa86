"""Problems of Hock and Schittkowski (1981) with equalities and with bounds, and their published answers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem

INF = math.inf
ROOT2 = math.sqrt(2)


@dataclass(frozen=True)
class Published:
    name: str
    problem: Problem
    start: list[float]
    f: float
    x: list[float] | None = None
    accuracy: float = 1e-5  # of f, relative to 1 + |f|


def _published(
    name: str,
    f: Callable[[Tensor], Tensor],
    start: list[float],
    value: float,
    h: Callable[[Tensor], list[Tensor]] | None = None,
    bounds: tuple[Any, Any] | None = None,
    g: Callable[[Tensor], Tensor] | None = None,
    **more: Any,
) -> Published:
    equalities = [] if h is None else [lambda x: torch.stack(h(x))]
    constraints = [] if g is None else [Constraint(g)]
    limits = None
    if bounds is not None:
        limits = tuple(torch.tensor(one, dtype=torch.float64) if isinstance(one, list) else one for one in bounds)
    problem = Problem(f, constraints=constraints, equalities=equalities, bounds=limits)  # type: ignore[arg-type]
    return Published(name, problem, start, value, **more)


def _quartic(x: Tensor) -> Tensor:
    return (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[2] - 1) ** 2 + (x[3] - 1) ** 4 + (x[4] - 1) ** 6


def _chain(x: Tensor) -> Tensor:
    return (x[0] - x[1]) ** 2 + (x[1] + x[2] - 2) ** 2 + (x[3] - 1) ** 2 + (x[4] - 1) ** 2


def _chained(x: Tensor) -> list[Tensor]:
    return [x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]]


def _rosenbrock(x: Tensor) -> Tensor:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def _wood(x: Tensor) -> Tensor:
    second = 90 * (x[3] - x[2] ** 2) ** 2 + (1 - x[2]) ** 2
    cross = 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2) + 19.8 * (x[1] - 1) * (x[3] - 1)
    return _rosenbrock(x) + second + cross


def _weibull(x: Tensor) -> Tensor:
    shares = torch.arange(1, 100, dtype=torch.float64) / 100
    u = 25 + (-50 * shares.log()) ** (2 / 3)
    return (torch.exp(-((u - x[1]) ** x[2]) / x[0]) - shares).square().sum()


def _five(x: Tensor) -> list[Tensor]:
    return [x @ x - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1]


def _power(x: Tensor) -> list[Tensor]:
    sin = torch.sin
    return [
        1000 * (sin(-x[2] - 0.25) + sin(-x[3] - 0.25)) + 894.8 - x[0],
        1000 * (sin(x[2] - 0.25) + sin(x[2] - x[3] - 0.25)) + 894.8 - x[1],
        1000 * (sin(x[3] - 0.25) + sin(x[3] - x[2] - 0.25)) + 1294.8,
    ]


def equalities() -> list[Published]:
    return [
        _published("hs6", lambda x: (1 - x[0]) ** 2, [-1.2, 1], 0, lambda x: [10 * (x[1] - x[0] ** 2)], x=[1, 1]),
        _published(
            "hs7", lambda x: torch.log(1 + x[0] ** 2) - x[1], [2, 2], -math.sqrt(3),
            lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4], x=[0, math.sqrt(3)],
        ),
        _published(
            "hs9", lambda x: torch.sin(math.pi * x[0] / 12) * torch.cos(math.pi * x[1] / 16), [0, 0], -0.5,
            lambda x: [4 * x[0] - 3 * x[1]],
        ),
        _published(
            "hs26", lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [-2.6, 2, 2], 0,
            lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3],
        ),
        _published(
            "hs27", lambda x: 0.01 * (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2, [2, 2, 2], 0.04,
            lambda x: [x[0] + x[2] ** 2 + 1],
        ),
        _published(
            "hs28", lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, [-4, 1, 1], 0,
            lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1], x=[0.5, -0.5, 0.5],
        ),
        _published(
            "hs39", lambda x: -x[0], [2, 2, 2, 2], -1,
            lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2],
        ),
        _published(
            "hs40", lambda x: -x.prod(), [0.8, 0.8, 0.8, 0.8], -0.25,
            lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]],
        ),
        _published(
            "hs42", lambda x: (x - torch.arange(1, 5, dtype=x.dtype)).square().sum(), [1, 1, 1, 1], 28 - 10 * ROOT2,
            lambda x: [x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2],
        ),
        _published(
            "hs46", lambda x: _quartic(x) - (x[0] - 1) ** 2, [ROOT2 / 2, 1.75, 0.5, 2, 2], 0,
            lambda x: [x[0] ** 2 * x[3] + torch.sin(x[3] - x[4]) - 1, x[1] + x[2] ** 4 * x[3] ** 2 - 2],
        ),
        _published(
            "hs47",
            lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 3 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4,
            [2, ROOT2, -1, 2 - ROOT2, 0.5], 0,
            lambda x: [x[0] + x[1] ** 2 + x[2] ** 3 - 3, x[1] - x[2] ** 2 + x[3] - 1, x[0] * x[4] - 1],
        ),
        _published(
            "hs48", lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2, [3, 5, -3, 2, -2], 0,
            lambda x: [x.sum() - 5, x[2] - 2 * (x[3] + x[4]) + 3], x=[1, 1, 1, 1, 1],
        ),
        _published(
            "hs49", lambda x: _quartic(x) - (x[0] - 1) ** 2, [10, 7, 2, -3, 0.8], 0,
            lambda x: [x[0] + x[1] + x[2] + 4 * x[3] - 7, x[2] + 5 * x[4] - 6],
        ),
        _published(
            "hs50",
            lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 2,
            [35, -31, 11, 5, -5], 0,
            lambda x: [
                x[0] + 2 * x[1] + 3 * x[2] - 6, x[1] + 2 * x[2] + 3 * x[3] - 6, x[2] + 2 * x[3] + 3 * x[4] - 6,
            ],
        ),
        _published(
            "hs51", _chain, [2.5, 0.5, 2, -1, 0.5], 0,
            lambda x: [x[0] + 3 * x[1] - 4, x[2] + x[3] - 2 * x[4], x[1] - x[4]], x=[1, 1, 1, 1, 1],
        ),
        _published(
            "hs52", lambda x: _chain(x) - (x[0] - x[1]) ** 2 + (4 * x[0] - x[1]) ** 2, [2, 2, 2, 2, 2], 1859 / 349,
            _chained,
        ),
        _published(
            "hs61",
            lambda x: 4 * x[0] ** 2 + 2 * x[1] ** 2 + 2 * x[2] ** 2 - 33 * x[0] + 16 * x[1] - 24 * x[2],
            [0, 0, 0], -143.6461422, lambda x: [3 * x[0] - 2 * x[1] ** 2 - 7, 4 * x[0] - x[2] ** 2 - 11],
        ),
        _published(
            "hs77", _quartic, [2, 2, 2, 2, 2], 0.24150513,
            lambda x: [
                x[0] ** 2 * x[3] + torch.sin(x[3] - x[4]) - 2 * ROOT2, x[1] + x[2] ** 4 * x[3] ** 2 - 8 - ROOT2,
            ],
        ),
        _published("hs78", lambda x: x.prod(), [-2, 1.5, 2, -1, -1], -2.91970041, _five),
        _published(
            "hs79",
            lambda x: (
                (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[3]) ** 4 + (x[3] - x[4]) ** 4
            ),
            [2, 2, 2, 2, 2], 0.0787768209,
            lambda x: [
                x[0] + x[1] ** 2 + x[2] ** 3 - 2 - 3 * ROOT2, x[1] - x[2] ** 2 + x[3] + 2 - 2 * ROOT2, x[0] * x[4] - 2,
            ],
        ),
    ]  # fmt: skip


def bounds() -> list[Published]:
    a = math.sqrt(598 / 1200)
    hs2 = 2 * a * math.cos(math.acos(1 / (400 * a**3)) / 3)
    return [
        _published("hs1", _rosenbrock, [-2, 1], 0, bounds=([-INF, -1.5], None), x=[1, 1]),
        _published("hs2", _rosenbrock, [2, 1], 0.0504261879, bounds=([-INF, 1.5], None), x=[hs2, 1.5]),
        _published(
            "hs3", lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, [10, 1], 0, bounds=([-INF, 0], None), accuracy=1e-4
        ),
        _published(
            "hs4", lambda x: (x[0] + 1) ** 3 / 3 + x[1], [1.125, 0.125], 8 / 3, bounds=([1, 0], None), x=[1, 0]
        ),
        _published(
            "hs5", lambda x: torch.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1, [0, 0],
            -math.sqrt(3) / 2 - math.pi / 3, bounds=([-1.5, -3], [4, 3]), x=[0.5 - math.pi / 3, -0.5 - math.pi / 3],
        ),
        _published("hs25", _weibull, [60, 24, 1.2], 0, bounds=([0.1, 0, 0], [100, 25.6, 5]), accuracy=1e-6),
        _published("hs38", _wood, [-3, -1, -3, -1], 0, bounds=(-10, 10), x=[1, 1, 1, 1]),
        _published(
            "hs45", lambda x: 2 - x.prod() / 120, [2, 2, 2, 2, 2], 1, bounds=(0, [1, 2, 3, 4, 5]), x=[1, 2, 3, 4, 5]
        ),
        _published(
            "hs110", lambda x: (torch.log(x - 2) ** 2 + torch.log(10 - x) ** 2).sum() - x.prod() ** 0.2, [9] * 10,
            -45.77846971, bounds=(2.001, 9.999), x=[9.35025655] * 10,
        ),
    ]  # fmt: skip


def both() -> list[Published]:
    return [
        _published(
            "hs41", lambda x: 2 - x[0] * x[1] * x[2], [2, 2, 2, 2], 52 / 27,
            lambda x: [x[0] + 2 * x[1] + 2 * x[2] - x[3]], (0, [1, 1, 1, 2]), x=[2 / 3, 1 / 3, 1 / 3, 2],
        ),
        _published("hs53", _chain, [2, 2, 2, 2, 2], 176 / 43, _chained, (-10, 10)),
        _published(
            "hs60", lambda x: (x[0] - 1) ** 2 + (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [2, 2, 2], 0.0325682,
            lambda x: [x[0] * (1 + x[1] ** 2) + x[2] ** 4 - 4 - 3 * ROOT2], (-10, 10),
        ),
        _published(
            "hs63", lambda x: 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2], [2, 2, 2],
            961.715172, lambda x: [8 * x[0] + 14 * x[1] + 7 * x[2] - 56, x @ x - 25], (0, None),
        ),
        _published(
            "hs71", lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1, 5, 5, 1], 17.0140173,
            lambda x: [x @ x - 40], (1, 5), lambda x: 25 - x.prod(),
        ),
        _published(
            "hs74", lambda x: 3 * x[0] + 1e-6 * x[0] ** 3 + 2 * x[1] + 2e-6 / 3 * x[1] ** 3, [0, 0, 0, 0], 5126.4981,
            _power, ([0, 0, -0.55, -0.55], [1200, 1200, 0.55, 0.55]), lambda x: (x[2] - x[3]).abs().reshape(()) - 0.55,
        ),
        _published(
            "hs80", lambda x: x.prod().exp(), [-2, 2, 2, -1, -1], 0.0539498478, _five,
            ([-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2]),
        ),
    ]  # fmt: skip
