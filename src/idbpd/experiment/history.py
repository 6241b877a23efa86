"""The steps of a solve as a table."""

from collections.abc import Sequence

import pandas as pd

from idbpd.optim import Solution


def history_frame(solution: Solution, constraint_tasks: Sequence[str] = ()) -> pd.DataFrame:
    """One row per recorded step, with the names under which the run is tracked.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks. Where several tasks are named, each has
    columns of its own too.
    """
    history = solution.history
    frame = pd.DataFrame(
        {
            "step": history.step,
            "objective": history.f,
            "constraint": history.g.amax(dim=1),
            "multiplier": history.multipliers.amax(dim=1),
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
