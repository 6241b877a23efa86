"""The solver against what people write in forty lines: the exchange method with SLSQP, on small semi-infinite problems.

Run it with `PYTHONPATH=src:. python benchmarks/exchange_slsqp.py`. Both start from the same point. The rival maximises
every constraint over a grid, polishes the best point, adds it to a finite problem that begins with a coarse grid, and
solves that with SLSQP. It has no certificate, and its grid is all that speaks for its answer. Processor time.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from idbpd.optim import Constraint, Problem, Status, solve
from idbpd.optim.sets import Box

Formula = Callable[[Any, Any, Any], Any]  # of x, w and the module that has sin and exp: numpy or torch
REPEATS = 5


class Case(NamedTuple):
    """Minimise ``f`` where ``g`` is at most 0 for all w in a box."""

    name: str
    f: Formula
    g: Sequence[Formula]
    low: Sequence[float]
    high: Sequence[float]
    start: Sequence[float]


def poly(x: Any, t: Any) -> Any:
    """The polynomial with coefficients x."""
    return sum(x[i] * t**i for i in range(len(x)))


CASES = [
    Case(
        "Watson 1",
        lambda x, _, __: x[0] ** 2 / 3 + x[1] ** 2 + x[0] / 2,
        [lambda x, w, _: (1 - x[0] ** 2 * w[0] ** 2) ** 2 - x[0] * w[0] ** 2 - x[1] ** 2 + x[1]],
        [0],
        [1],
        [-1, -1],
    ),
    Case(
        "Watson 2",
        lambda x, _, __: x[0] ** 2 + x[1] ** 2 + x[2] ** 2,
        [lambda x, w, m: x[0] + x[1] * m.exp(x[2] * w[0]) + m.exp(2 * w[0]) - 2 * m.sin(4 * w[0])],
        [0],
        [1],
        [1, -1, 2],
    ),
    Case(
        "Watson 3",
        lambda x, _, m: m.exp(x[0]) + m.exp(x[1]) + m.exp(x[2]),
        [lambda x, w, _: 1 / (1 + w[0] ** 2) - x[0] - x[1] * w[0] - x[2] * w[0] ** 2],
        [0],
        [1],
        [1, 0.5, 0],
    ),
    *(
        Case(
            f"Watson 4, n = {n}",
            lambda x, _, __: sum(x[i] / (i + 1) for i in range(len(x))),
            [lambda x, w, m: m.tan(w[0]) - poly(x, w[0])],
            [0],
            [1],
            [1.0] * n,
        )
        for n in (3, 6)
    ),
    Case(
        "Watson 7",
        lambda x, _, __: x[0] ** 2 + x[1] ** 2 + x[2] ** 2,
        [
            lambda x, w, _: (
                x[0] * (w[0] + w[1] ** 2 + 1)
                + x[1] * (w[0] * w[1] - w[1] ** 2)
                + x[2] * (w[0] * w[1] + w[1] ** 2 + w[1])
                + 1
            )
        ],
        [0, 0],
        [1, 1],
        [1, 1, 1],
    ),
    Case(
        "Watson 8",
        lambda x, _, __: x[0] + x[1] / 2 + x[2] / 2 + x[3] / 3 + x[4] / 4 + x[5] / 3,
        [
            lambda x, w, m: (
                m.exp(w[0] ** 2 + w[1] ** 2)
                - x[0]
                - x[1] * w[0]
                - x[2] * w[1]
                - x[3] * w[0] ** 2
                - x[4] * w[0] * w[1]
                - x[5] * w[1] ** 2
            )
        ],
        [0, 0],
        [1, 1],
        [4, 1, 1, 1, 1, 1],
    ),
    Case(
        "Blankenship and Falk",
        lambda x, _, __: (x[0] - 2) ** 2 + (x[1] - 0.2) ** 2,
        [lambda x, w, m: 5 * x[0] ** 2 * m.sin(math.pi * x[0] ** 0.5 * w[0]) / (1 + w[0] ** 2) - x[1]],
        [0],
        [1],
        [1, 1],
    ),
    Case(
        "disc by tangents",
        lambda x, _, __: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
        [lambda x, w, m: x[0] * m.cos(w[0]) + x[1] * m.sin(w[0]) - 1],
        [0],
        [2 * math.pi],
        [0, 0],
    ),
    Case(
        "Chebyshev, exp",
        lambda x, _, __: x[3],
        [
            lambda x, w, m: m.exp(w[0]) - poly(x[:3], w[0]) - x[3],
            lambda x, w, m: poly(x[:3], w[0]) - m.exp(w[0]) - x[3],
        ],
        [-1],
        [1],
        [1, 1, 0.5, 1],
    ),
    Case(
        "Chebyshev, sqrt",
        lambda x, _, __: x[2],
        [
            lambda x, w, _: (w[0] + 0.1) ** 0.5 - poly(x[:2], w[0]) - x[2],
            lambda x, w, _: poly(x[:2], w[0]) - (w[0] + 0.1) ** 0.5 - x[2],
        ],
        [0],
        [1],
        [0, 0, 1],
    ),
    Case(
        "filter",
        lambda x, _, __: (x[0] - 1) ** 2 + (x[1] + 0.5) ** 2 + x[2] ** 2,
        [lambda x, w, m: x[0] * m.cos(w[0]) + x[1] * m.cos(2 * w[0]) + x[2] * m.cos(3 * w[0]) - 1],
        [0],
        [math.pi],
        [0, 0, 0],
    ),
    Case(
        "robust linear",
        lambda x, _, __: -x[0] - x[1],
        [lambda x, w, _: (1 + 0.3 * w[0]) * x[0] + (1 + 0.2 * w[1]) * x[1] - 1],
        [-1, -1],
        [1, 1],
        [0.1, 0.1],
    ),
    Case(
        "robust ellipse",
        lambda x, _, __: -x[0] - 2 * x[1],
        [lambda x, w, _: (x[0] + 0.1 * w[0]) ** 2 + 2 * (x[1] + 0.1 * w[1]) ** 2 - 1],
        [-1, -1],
        [1, 1],
        [0, 0],
    ),
    Case(
        "moving wave",
        lambda x, _, __: (x[0] - 1) ** 2 + (x[1] - 1) ** 2,
        [lambda x, w, m: x[0] * m.sin(5 * w[0]) + x[1] * m.cos(3 * w[0]) - 1],
        [0],
        [3],
        [0, 0],
    ),
    Case(
        "two constraints",
        lambda x, _, __: x[0] ** 2 + x[1] ** 2 - 4 * x[0],
        [lambda x, w, _: w[0] * x[0] + x[1] - 1 - w[0] ** 2 / 4, lambda x, w, m: x[0] * m.exp(-w[0]) - x[1] - 1],
        [0],
        [2],
        [0, 0],
    ),
    Case(
        "quartic",
        lambda x, _, __: (x[0] - 1) ** 4 + (x[1] - 2) ** 2,
        [lambda x, w, _: x[0] * w[0] ** 3 + x[1] * w[0] - 1 + 0 * x[1]],
        [-1],
        [1],
        [0, 0],
    ),
    Case(
        "surface",
        lambda x, _, __: -x[0],
        [lambda x, w, m: x[0] + m.sin(2 * w[0]) * m.cos(2 * w[1]) + 0.1 * w[0] - 2 + x[1] ** 2],
        [-1, -1],
        [1, 1],
        [0, 0.5],
    ),
    Case(
        "exponential",
        lambda x, _, __: (x[0] - 1) ** 2 + (x[1] - 1) ** 2,
        [lambda x, w, m: m.exp(x[0] * w[0]) + x[1] * w[0] - 2],
        [0],
        [1],
        [0, 0],
    ),
    Case(
        "rational",
        lambda x, _, __: -x[0] - x[1],
        [lambda x, w, _: x[0] / (1 + w[0]) + x[1] * w[0] - 1],
        [0],
        [1],
        [0.1, 0.1],
    ),
]


def exchange(case: Case) -> tuple[np.ndarray, float]:
    """The rival: x, and the largest violation that it knows of."""
    n = len(case.low)
    axes = [np.linspace(a, b, 201 if n == 1 else 41) for a, b in zip(case.low, case.high, strict=True)]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes)])
    bounds = list(zip(case.low, case.high, strict=True))
    # A coarse grid to begin with, or the first finite problem has no minimum.
    coarse = grid[:, :: len(grid[0]) // 16]
    known = [(g, w) for g in case.g for w in coarse.T]
    x = np.array(case.start, dtype=float)
    worst, begun = math.inf, False
    for _ in range(50):
        worst = -math.inf
        for g in case.g:
            at = grid[:, np.argmax(g(x, grid, np) + 0 * grid[0])]
            found = minimize(lambda w, g=g, x=x: -g(x, w, np), at, bounds=bounds, method="L-BFGS-B")
            w = found.x if -found.fun >= g(x, at, np) else at
            worst = max(worst, float(g(x, w, np)))
            known.append((g, w))
        if worst <= 1e-7 and begun:
            break
        begun = True
        rows = [{"type": "ineq", "fun": lambda v, g=g, w=w: -g(v, w, np)} for g, w in known]
        x = minimize(
            lambda v: case.f(v, None, np), x, constraints=rows, method="SLSQP", options={"ftol": 1e-12, "maxiter": 200}
        ).x
    return x, worst


def ours(case: Case) -> tuple[Tensor, Status, int]:
    """The solver: x, status and evaluations."""
    box = Box(torch.tensor(case.low, dtype=torch.float64), torch.tensor(case.high, dtype=torch.float64))
    constraints = [Constraint(lambda x, w, g=g: g(x, w, torch), box) for g in case.g]
    problem = Problem(lambda x: case.f(x, None, torch), constraints=constraints)
    solution = solve(problem, torch.tensor(case.start, dtype=torch.float64), max_steps=300)
    assert isinstance(solution.x, Tensor)
    return solution.x, solution.status, solution.evaluations


def timed(*runs: Callable[[], Any]) -> list[tuple[Any, float]]:
    """The result of each, and the least processor seconds of a few runs, one after the other in turns."""
    results: list[Any] = [None] * len(runs)
    seconds = [math.inf] * len(runs)
    for _ in range(REPEATS):
        for i, run in enumerate(runs):
            begin = time.process_time()
            results[i] = run()
            seconds[i] = min(seconds[i], time.process_time() - begin)
    return list(zip(results, seconds, strict=True))


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    ours(CASES[0])  # imports on the first call
    ratios = []
    print("| problem | status | evaluations | f | exchange f | ms | exchange ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        ((x, status, evaluations), seconds), ((other, _), rival) = timed(partial(ours, case), partial(exchange, case))
        f, f_other = float(case.f(x, None, torch)), float(case.f(other, None, np))
        ratios.append(seconds / rival)
        print(
            f"| {case.name} | {status.name} | {evaluations} | {f:.6f} | {f_other:.6f} | {1e3 * seconds:.0f} | "
            f"{1e3 * rival:.0f} | {ratios[-1]:.1f} |",
            flush=True,
        )
    print(f"\nGeometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
