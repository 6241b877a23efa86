"""Inner functions whose worst case is easy to miss, with the truth found without the library.

Each case is a problem, and `truth` gives the true worst-case values at any x: in closed form, or by a search over a
fine grid, all corners or all eigenvalues. A certificate is false where a run says CONVERGED, and a true worst-case
value is above the one it reports, or a true constraint is violated.
"""

# mypy: disable-error-code="misc"
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem, Solution, Status
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex, Space

Psi = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Hidden:
    name: str
    problem: Problem
    start: Sequence[float]
    truth: Callable[[Tensor], Sequence[float]]  # of f, then of every g
    solved: bool = True  # whether the default effort is expected to know the worst case at the answer
    answer: float | None = None  # the least f, where it is known


def is_false(case: Hidden, solution: Solution, tolerance: float = 1e-5) -> bool:
    """Whether a run has certified what is not so."""
    if solution.status is not Status.CONVERGED:
        return False
    assert isinstance(solution.x, Tensor)
    f, *g = case.truth(solution.x.double())
    size = 1 + abs(f)
    return f > solution.f + tolerance * size or any(one > tolerance for one in g)


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def cube(n: int, low: float = -1.0, high: float = 1.0) -> Box:
    return Box(torch.full((n,), low, dtype=torch.float64), high)


def unit_ball(n: int, radius: float = 1.0) -> Ball:
    return Ball(torch.zeros(n, dtype=torch.float64), radius)


def corners(n: int, low: float = -1.0, high: float = 1.0) -> Tensor:
    return low + (high - low) * torch.cartesian_prod(*[at(0, 1)] * n).reshape(-1, n)


def grid(n: int, per_axis: int, low: float = -1.0, high: float = 1.0) -> Tensor:
    return torch.cartesian_prod(*[torch.linspace(low, high, per_axis, dtype=torch.float64)] * n).reshape(-1, n)


def scan(psi: Psi, points: Callable[[], Tensor]) -> Callable[[Tensor], float]:
    """The largest value over many points, which are made when they are asked for."""
    return lambda x: float(torch.vmap(lambda w: psi(x, w), chunk_size=20_000)(points()).amax())


def limited(
    name: str,
    psi: Psi,
    over: ConvexSet,
    worst: Callable[[Tensor], float],
    start: Sequence[float] = (0.1, 0.2),
    **more: Any,
) -> Hidden:
    """Min 1/2 ||x - (2, 1)||^2 under one constraint."""

    def f(x: Tensor) -> Tensor:
        return 0.5 * (x - at(2, 1)).square().sum()

    return Hidden(
        name, Problem(f, constraints=[Constraint(psi, over)]), start, lambda x: [float(f(x)), worst(x)], **more
    )


def level(name: str, h: Callable[[Tensor], Tensor], over: ConvexSet, highest: float, **more: Any) -> Hidden:
    """Min x under h(w) <= x: the answer is the largest h."""
    problem = Problem(lambda x: x[0], constraints=[Constraint(lambda x, w: h(w) - x[0], over)])
    return Hidden(
        f"level: {name}", problem, [0.0], lambda x: [float(x[0]), highest - float(x[0])], answer=highest, **more
    )


def scanned(name: str, h: Callable[[Tensor], Tensor], n: int, low: float, high: float) -> Hidden:
    """The same over a cube, with the largest h by a scan."""
    points = grid(n, {1: 1_000_001, 2: 2001}[n], low, high)
    return level(name, h, cube(n, low, high), float(torch.vmap(h, chunk_size=50_000)(points).amax()))


def worst_loss(
    name: str,
    phi: Psi,
    over: ConvexSet,
    worst: Callable[[Tensor], float],
    start: Sequence[float] = (0.1, 0.2),
    **more: Any,
) -> Hidden:
    """Min over x of the worst case of phi."""
    return Hidden(f"objective: {name}", Problem(phi, over), start, lambda x: [worst(x)], **more)


def hinge(x: Tensor, w: Tensor) -> Tensor:
    """Of two samples that an adversary moves by w; 0 at w = 0 for a good classifier."""
    samples, labels = at(2.0, 1.5, -2.0, -1.0).reshape(2, 2), at(1, -1)
    return torch.relu(1 - labels * ((samples + w) @ x)).sum()


def hinge_truth(radius: float) -> Callable[[Tensor], float]:
    def truth(x: Tensor) -> float:
        reach = torch.linspace(-radius, radius, 4001, dtype=torch.float64) * x.norm()
        margins = at(2.0, 1.5) @ x + reach, -(at(-2.0, -1.0) @ x + reach)
        return float(torch.stack([torch.relu(1 - margin) for margin in margins]).sum(0).amax())

    return truth


def huber(r: Tensor) -> Tensor:
    return torch.where(r.abs() <= 1, 0.5 * r**2, r.abs() - 0.5)


def symmetric(n: int, seed: int) -> Tensor:
    matrix = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    half: Tensor = (matrix + matrix.T) / 2 / n**0.5
    return half


def flat_starts() -> list[Hidden]:
    line, plane = cube(1), partial(grid, 1, 20_001)
    centre = at(2, 1)
    cases = [
        limited(
            "relu(w - a)",
            lambda x, w: torch.relu(w[0] - 0.5) * x[0] - 0.1,
            line,
            lambda x: float(0.5 * x[0].relu() - 0.1),
        ),
        limited(
            "relu(w - a(x))",
            lambda x, w: torch.relu(w[0] - 0.8 + 0.1 * x.sum()) - 0.05,
            line,
            lambda x: float(torch.relu(0.2 + 0.1 * x.sum())) - 0.05,
            start=(-4.0, 0.0),
        ),
        limited(
            "clamped",
            lambda x, w: ((w * x).sum() - 0.6).clamp(0, 3) - 0.2,
            cube(2),
            lambda x: min(max(float(x.abs().sum()) - 0.6, 0), 3) - 0.2,
        ),
        limited("even", lambda x, w: (w @ x) ** 2 - 1, cube(2), lambda x: float(x.abs().sum()) ** 2 - 1),
        limited("even quartic", lambda x, w: (w @ x) ** 4 - 1, cube(2), lambda x: float(x.abs().sum()) ** 4 - 1),
        limited("cosh", lambda x, w: torch.cosh(w @ x) - 2, unit_ball(2), lambda x: float(torch.cosh(x.norm())) - 2),
        limited("huber", lambda x, w: huber(w @ x) - 1, cube(2), lambda x: float(huber(x.abs().sum())) - 1),
        limited("huber, ball of 2", lambda x, w: huber(w @ x) - 1, unit_ball(2), lambda x: float(huber(x.norm())) - 1),
        limited("hinge", lambda x, w: hinge(x, w) - 0.3, unit_ball(2, 0.7), lambda x: hinge_truth(0.7)(x) - 0.3),
        limited(
            "hinge, box",
            lambda x, w: hinge(x, w) - 0.4,
            cube(2, -0.5, 0.5),
            scan(lambda x, w: hinge(x, w) - 0.4, partial(corners, 2, -0.5, 0.5)),
        ),
        limited(
            "dead zone",
            lambda x, w: torch.relu((w[0] * x[0]).abs() - 0.3) - 0.1,
            line,
            lambda x: max(float(x[0].abs()) - 0.3, 0) - 0.1,
        ),
        limited("modulus", lambda x, w: (w @ x).abs() - 1, cube(2), lambda x: float(x.abs().sum()) - 1),
        limited(
            "largest of two",
            lambda x, w: torch.maximum(w @ x, -2 * (w @ x)) - 1,
            cube(2),
            lambda x: 2 * float(x.abs().sum()) - 1,
        ),
        level("plateau and step", lambda w: torch.sigmoid(200 * (w[0] - 0.7)), line, float(torch.sigmoid(at(60.0)))),
        level("ramp at the end", lambda w: 10 * torch.relu(w[0] - 0.97) + 0 * w[0], line, 0.3),
        level("ramp in a corner of 5", lambda w: torch.relu(w.sum() - 4.5), cube(5), 0.5),
        level("ramp in a corner of 10", lambda w: torch.relu(w.sum() - 9.0), cube(10), 1.0),
        level("kink at the centre", lambda w: -w.abs().sum() + 3 * torch.relu(w[0] - 0.5), cube(2), 0.5),
        worst_loss(
            "clamped loss",
            lambda x, y: ((y[0] - x[0]).square() - 0.5).clamp(min=0) + 0.1 * (x - centre).square().sum(),
            line,
            scan(lambda x, y: ((y[0] - x[0]).square() - 0.5).clamp(min=0) + 0.1 * (x - centre).square().sum(), plane),
        ),
        worst_loss(
            "even",
            lambda x, y: (y @ x - 0) ** 2 + 0.1 * (x - centre).square().sum(),
            cube(2),
            lambda x: float(x.abs().sum() ** 2 + 0.1 * (x - centre).square().sum()),
        ),
        worst_loss(
            "hinge",
            lambda x, y: hinge(x, y) + 0.05 * x @ x,
            unit_ball(2, 0.7),
            lambda x: hinge_truth(0.7)(x) + 0.05 * float(x @ x),
        ),
        worst_loss(
            "huber regression",
            lambda x, y: huber(3 + y @ x) + 0.1 * x @ x,
            unit_ball(2),
            lambda x: float(huber(3 + x.norm()) + 0.1 * x @ x),
        ),
    ]
    for n in (8, 40):
        row = torch.linspace(-1, 1, n, dtype=torch.float64)
        cases.append(
            limited(
                f"hinge, ball of {n}",
                lambda x, w, row=row: torch.relu(1 - x.sum() - (row * x[0] + 0.1 * x[1]) @ w) - 0.5,
                unit_ball(n),
                lambda x, row=row: float(torch.relu(1 - x.sum() + (row * x[0] + 0.1 * x[1]).norm())) - 0.5,
                start=(3.0, 3.0),
            )
        )
    return cases


def convex() -> list[Hidden]:
    cases = []
    for n in (6, 10):
        A, b = symmetric(n, n), torch.linspace(-1, 1, n, dtype=torch.float64)
        Q = A @ A.T

        def psi(x: Tensor, w: Tensor, Q: Tensor = Q, b: Tensor = b) -> Tensor:
            return w @ Q @ w * (0.1 + 0.1 * x[0] ** 2) + 0.3 * x[1] * (b @ w) - 2

        cases.append(limited(f"convex quadratic, box of {n}", psi, cube(n), scan(psi, partial(corners, n))))
        cases.append(
            level(
                f"convex quadratic, box of {n}",
                lambda w, Q=Q: w @ Q @ w,
                cube(n),
                float(((corners(n) @ Q) * corners(n)).sum(1).amax()),
            )
        )
        cases.append(
            level(
                f"sum of exponentials, box of {n}",
                lambda w, A=A: (A @ w).exp().sum(),
                cube(n),
                float((corners(n) @ A).exp().sum(1).amax()),
            )
        )
    for n in (8, 60):
        A, B = symmetric(n, 1), symmetric(n, 2)
        cases.append(
            limited(
                f"largest eigenvalue, ball of {n}",
                lambda x, w, A=A, B=B: w @ (x[0] * A + x[1] * B) @ w - 1,
                unit_ball(n),
                lambda x, A=A, B=B: max(float(torch.linalg.eigvalsh(x[0] * A + x[1] * B)[-1]), 0.0) - 1,
            )
        )
        cases.append(
            worst_loss(
                f"largest eigenvalue, ball of {n}",
                lambda x, y, A=A, B=B: y @ (A + x[0] * B) @ y + 0.1 * x @ x,
                unit_ball(n),
                lambda x, A=A, B=B: max(float(torch.linalg.eigvalsh(A + x[0] * B)[-1]), 0.0) + 0.1 * float(x @ x),
            )
        )
    A, B = symmetric(60, 3), symmetric(60, 4)
    cases += [
        limited(
            "matrix inequality, ball of 60",
            lambda x, w: w @ ((x[0] * A + x[1] * B) @ w) - 1.2 * w @ w,
            unit_ball(60),
            lambda x: max(float(torch.linalg.eigvalsh(x[0] * A + x[1] * B)[-1]) - 1.2, 0.0),
        ),
        limited(
            "shifted quadratic, ball of 8",
            lambda x, w: (w @ w) * x[0] + 0.1 * x[1] * w.sum() - 1,
            unit_ball(8),
            lambda x: max(
                float(s * s * x[0] + 0.1 * x[1].abs() * s * 8**0.5 - 1) for s in torch.linspace(0, 1, 2001).double()
            ),
        ),
        level("norm squared on a simplex", lambda w: (w * at(1, 1.5, 2)).square().sum(), Simplex(3), 4.0),
        level("quartic on a simplex", lambda w: ((w - 0.3) ** 4).sum(), Simplex(6), 0.7**4 + 5 * 0.3**4),
        level("exponential on a simplex of 30", lambda w: (3 * w).exp().sum(), Simplex(30), float(at(3).exp()) + 29),
        level("saddle", lambda w: w[0] ** 2 - w[1] ** 2 + w[0] * w[1], cube(2), 1.25),
        level("saddle on a ball of 3", lambda w: w[0] ** 2 - w[1] ** 2 + 0.5 * w[2], unit_ball(3), 1.0625),
    ]
    return cases


def rastrigin(w: Tensor) -> Tensor:
    return (10 * torch.cos(2 * torch.pi * (w - 0.3)) - (w - 0.3) ** 2).sum()


def peaks() -> list[Hidden]:
    def far(w: Tensor) -> Tensor:
        return 2 * torch.exp(-((w[0] - 60) ** 2)) - 1e-4 * w[0] ** 2

    line = torch.linspace(-100, 100, 2_000_001, dtype=torch.float64)
    highest_far = float((2 * torch.exp(-((line - 60) ** 2)) - 1e-4 * line**2).amax())
    cases = [
        level("rastrigin 2", rastrigin, cube(2, -5, 5), 20.0),
        level("rastrigin 6", rastrigin, cube(6, -5, 5), 60.0),
        level("far peak on R", far, Space(1), highest_far),
        scanned("product of sines", lambda w: torch.sin(3 * w[0]) * torch.sin(4 * w[1]) + 0.1 * w[0], 2, -3, 3),
        scanned("long interval", lambda w: torch.sin(w[0]) + torch.exp(-4 * (w[0] - 778.4) ** 2), 1, 0, 1000),
        scanned("fast wave", lambda w: torch.sin(200 * w[0]) + 0.3 * w[0], 1, 0, 1),
        scanned("two wells", lambda w: -((w[0] ** 2 - 1) ** 2) + 0.1 * w[0], 1, -3, 3),
        level("ridge on a ball of 3", lambda w: torch.cos(9 * w[0]) + w[1] * w[2], unit_ball(3), 1.5),
        level(
            "bump outside of a ball",
            lambda w: torch.exp(-20 * (w - 0.9).square().sum()),
            unit_ball(2),
            float(torch.exp(at(-20 * (0.9 * 2**0.5 - 1) ** 2))),
        ),
        scanned("oscillating modulus", lambda w: (torch.sin(7 * w[0]) * w[0]).abs(), 1, 0, 4),
        level("lowest of two", lambda w: torch.minimum(w[0] + 1, 2 - 3 * w[0]) + torch.relu(w[1] - 0.9), cube(2), 1.35),
        limited(
            "moving peaks",
            lambda x, w: x[0] * torch.exp(-50 * (w[0] - 0.61) ** 2) + x[1] * torch.exp(-50 * (w[0] + 0.73) ** 2) - 1,
            cube(1),
            scan(
                lambda x, w: (
                    x[0] * torch.exp(-50 * (w[0] - 0.61) ** 2) + x[1] * torch.exp(-50 * (w[0] + 0.73) ** 2) - 1
                ),
                partial(grid, 1, 200_001),
            ),
        ),
        limited(
            "trigonometric on a square",
            lambda x, w: x[0] * torch.sin(5 * w[0]) + x[1] * torch.cos(7 * w[1] + w[0]) - 1,
            cube(2),
            scan(
                lambda x, w: x[0] * torch.sin(5 * w[0]) + x[1] * torch.cos(7 * w[1] + w[0]) - 1, partial(grid, 2, 1501)
            ),
        ),
        worst_loss(
            "network of two",
            lambda x, y: torch.tanh(3 * (x[0] * y[0] - y[1])).square() + (x[1] - y[0]).square() + 0.1 * x @ x,
            cube(2),
            scan(
                lambda x, y: torch.tanh(3 * (x[0] * y[0] - y[1])).square() + (x[1] - y[0]).square() + 0.1 * x @ x,
                partial(grid, 2, 1001),
            ),
        ),
    ]
    for n, sharp in ((4, 100.0), (8, 30.0)):
        place = 0.6 * torch.cos(torch.arange(n, dtype=torch.float64))
        cases.append(
            level(
                f"narrow bump in {n}",
                lambda w, place=place, sharp=sharp: torch.exp(-sharp * (w - place).square().sum()) - 0.01 * w @ w,
                cube(n),
                _bump_height(place, sharp),
            )
        )
    # No rule is known for these operations: whatever is found, it is not to be taken for the worst case.
    cases.append(
        Hidden(
            "a number read out of the point",
            Problem(
                lambda x: x[0],
                constraints=[Constraint(lambda x, w: w.sum() * float(w[0] > 0.95) - x[0], cube(5))],
            ),
            [0.0],
            lambda x: [float(x[0]), 5.0 - float(x[0])],
            solved=False,
        )
    )
    return cases


def _bump_height(place: Tensor, sharp: float) -> float:
    """The maximum is on the line from 0 to the place of the bump."""
    share = torch.linspace(0.9, 1, 1_000_001, dtype=torch.float64)
    square = float(place @ place)
    return float((torch.exp(-sharp * square * (1 - share) ** 2) - 0.01 * square * share**2).amax())


HIDDEN = [*flat_starts(), *convex(), *peaks()]
