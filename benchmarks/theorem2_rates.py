"""The rates that Theorem 2 claims for Algorithm 1, measured: the best iterate's residuals against the number of steps
T.

For each T, Algorithm 1 runs with the schedule of the theorem for that T, and the iterate with the smallest worst
residual counts, as in its proof. Two problems: a disc, where the squared violation satisfies the inequality of
Lojasiewicz with theta = 1/2, and a parabola that touches zero, where theta = 3/4 and no multiplier exists. The default
method is shown next to it; the theorem says nothing about it.

Run: ``PYTHONPATH=src python benchmarks/theorem2_rates.py``, about a minute. Writes docs/figures/theorem2_rates.png.
"""

import math
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import torch

from idbpd.optim import IDBPD, Constraint, Problem, solve
from idbpd.optim.paper.schedules import theorem_barrier, theorem_step_size

mpl.use("Agg")
from matplotlib import pyplot as plt

HORIZONS = (100, 200, 400, 800, 1600, 3200, 6400)
QUANTITIES = ("stationarity", "infeasibility", "slackness")
COLOURS = ("#0072b2", "#d55e00", "#009e73")
MARKERS = ("o", "s", "^")
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "theorem2_rates.png"


class Example(NamedTuple):
    """A problem with the exponent theta of its constraint."""

    name: str
    problem: Problem
    start: list[float]
    theta: float

    @property
    def claimed(self) -> tuple[float, float, float]:
        """The exponents of T for the three quantities."""
        return -1 / 3, -1 / (6 * self.theta), -(1 - self.theta) / (3 * self.theta)


EXAMPLES = (
    Example(
        "disc",
        Problem(
            lambda x: 0.5 * (x[0] - 2) ** 2 + 0.5 * (x[1] - 1) ** 2,
            constraints=[Constraint(lambda x: 0.5 * x @ x - 0.5)],
        ),
        [2.0, 1.0],
        0.5,
    ),
    Example(
        "touching parabola, no multiplier",
        Problem(lambda x: 0.5 * (x[0] - 1) ** 2, constraints=[Constraint(lambda x: 0.5 * x[0].clamp(min=0) ** 2)]),
        [1.0],
        0.75,
    ),
)


def residuals_of_algorithm1(example: Example, horizon: int) -> tuple[float, float, float]:
    """The residuals of the best iterate of a run of ``horizon`` steps."""
    method = IDBPD.paper(gamma=theorem_step_size(horizon, largest=0.5), alpha=theorem_barrier(horizon))
    start = torch.tensor(example.start, dtype=torch.float64)
    solution = solve(example.problem, start, method, max_steps=horizon, tolerance=1e-12)
    return solution.kkt.stationarity, solution.kkt.infeasibility, solution.kkt.slackness


def slope(values: list[float]) -> float:
    """The exponent of T that fits the later half of the values best; NaN where a value is exactly zero."""
    points = [(math.log(T), math.log(v)) for T, v in list(zip(HORIZONS, values, strict=True))[2:] if v > 0]
    if len(points) < 3:
        return math.nan
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def main() -> None:
    """Measure, print the table, draw the figure."""
    torch.set_num_threads(1)
    figure, axes = plt.subplots(1, len(EXAMPLES), figsize=(11, 4.6), constrained_layout=True)
    print(f"{'problem':34s} {'quantity':14s} {'claimed':>8s} {'measured':>9s}   residuals at T = {HORIZONS}")
    for example, axis in zip(EXAMPLES, axes, strict=True):
        rows = [residuals_of_algorithm1(example, horizon) for horizon in HORIZONS]
        for i, (quantity, claimed) in enumerate(zip(QUANTITIES, example.claimed, strict=True)):
            values = [row[i] for row in rows]
            measured = slope(values)
            numbers = " ".join(f"{value:.1e}" for value in values)
            print(f"{example.name:34s} {quantity:14s} {claimed:8.3f} {measured:9.3f}   {numbers}")
            label = f"{quantity}: {measured:.2f} measured, {claimed:.2f} claimed"
            axis.loglog(HORIZONS, values, MARKERS[i], color=COLOURS[i], label=label)
            anchor = values[0] if values[0] > 0 else 1.0
            claim = [anchor * (T / HORIZONS[0]) ** claimed for T in HORIZONS]
            axis.loglog(HORIZONS, claim, ":", color=COLOURS[i], linewidth=1)
        default = solve(example.problem, torch.tensor(example.start, dtype=torch.float64), tolerance=1e-8)
        worst = default.history.worst.clamp(min=1e-16)
        axis.loglog(default.history.evaluations, worst, "k-", linewidth=1.2, label="IDBPD(): worst, per evaluation")
        print(f"{example.name:34s} IDBPD() reaches {default.kkt.worst:.1e} after {default.evaluations} evaluations")
        axis.set_title(f"{example.name} (theta = {example.theta})")
        axis.set_xlabel("steps T of Algorithm 1, evaluations of IDBPD()")
        axis.set_ylabel("residual of the best iterate")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(fontsize=8, loc="lower left")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=120)
    print(f"wrote {FIGURE.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
