"""One solve of a pipeline, which a killed run continues."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.experiment.problem import BuiltProblem
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.durable_solve import Budget, Timed, solve_durably, solve_settings
from idbpd.optim import Method


class Stage(NamedTuple):
    """One solve: its name in checkpoints and on the progress bar, what it is made with, and where states are kept."""

    name: str
    title: str
    made_with: dict[str, Any]
    checkpointing: Checkpointing

    def solve(
        self,
        built: BuiltProblem,
        thresholds: Mapping[str, float],
        start: dict[str, Tensor],
        budget: Budget,
        method: Method[Any],
    ) -> Timed:
        """Solve from ``start``, or from where an earlier session of the same run was."""
        # The stage's name is part of the key: no other setting says what a model without limits minimises.
        own = {**self.made_with, "stage": self.name}
        made_with = solve_settings(own, built.data.priority.name, thresholds, built, start)
        checkpoint = self.checkpointing.of(self.name, made_with)
        timed = solve_durably(self.title, built, start, method, budget, checkpoint)
        if checkpoint is not None:
            checkpoint.finish(timed.solution.state)
        return timed
