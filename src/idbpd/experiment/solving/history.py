"""The steps of a solve as a table."""

import math
from collections.abc import Sequence

import pandas as pd
from torch import Tensor

from idbpd.optim import Solution


def history_frame(solution: Solution, constraint_tasks: Sequence[str] = ()) -> pd.DataFrame:
    """One row per recorded step, with the names under which the run is tracked.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks, NaN without one. Where several tasks are
    named, each has columns of its own too.
    """
    history = solution.history
    frame = pd.DataFrame(
        {
            "step": history.step,
            "objective": history.f,
            "constraint": _largest(history.g),
            "multiplier": _largest(history.multipliers),
            "stationarity": history.stationarity,
            "infeasibility": history.infeasibility,
            "slackness": history.slackness,
        }
    )
    if len(constraint_tasks) > 1:
        for at, name in enumerate(constraint_tasks):
            frame[f"constraint_{name}"] = history.g[:, at].numpy()
            frame[f"multiplier_{name}"] = history.multipliers[:, at].numpy()
    return frame


def _largest(of_tasks: Tensor) -> Tensor:
    return of_tasks.amax(dim=1) if of_tasks.shape[1] else of_tasks.new_full((len(of_tasks),), math.nan)
