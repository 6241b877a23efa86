"""Log how a training ended, with a warning for every limit that is broken."""

import logging
from collections.abc import Mapping
from typing import Any

from idbpd.experiment.solving.durable_solve import Timed
from idbpd.optim import Solution, Status

logger = logging.getLogger(__name__)


def reached(solution: Solution, thresholds: Mapping[str, float]) -> dict[str, float]:
    """The worst-case loss of each constraint task at the weights that are returned."""
    return {name: limit + g for (name, limit), g in zip(thresholds.items(), solution.g.tolist(), strict=True)}


def say_how_it_ended(title: str, timed: Timed, tolerance: float, tasks: Mapping[str, Mapping[str, Any]]) -> None:
    """One line on how it ended, and a warning for every limit that the weights break.

    ``tasks`` is what calibration found for each constraint task.
    """
    solution = timed.solution
    logger.info("%s: %s after %d steps, %.1f s", title, solution.status.name, solution.steps, timed.total_seconds)
    if solution.status is Status.DIVERGED:
        logger.warning("%s: %s; the best finite weights are kept", title, solution.reason)
    limits = {name: float(task["threshold"]) for name, task in tasks.items()}
    for name, loss in reached(solution, limits).items():
        if loss > limits[name] + tolerance:
            found = (
                f"an infeasible stationary point ({solution.reason})"
                if solution.status is Status.INFEASIBLE
                else f"no feasible point was found ({solution.reason})"
            )
            logger.warning(
                "%s: %s; the worst-case loss of the %s task came down to %.4f, its limit is %.4f, and calibration, "
                "which pays for weight decay as well, reached %.4f; the weights closest to the limits are kept. "
                "Allow more: calibration.slack or .threshold",
                title,
                found,
                name,
                loss,
                limits[name],
                tasks[name]["value"],
            )
