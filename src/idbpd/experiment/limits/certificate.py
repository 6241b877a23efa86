"""f, g, multipliers and KKT residuals in float64 at given weights, whatever precision they were trained in."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.experiment.problem import BuiltProblem, Experiment
from idbpd.mtl import MultiTaskData
from idbpd.optim.kkt import KKT, best_multipliers, residuals
from idbpd.optim.oracle import Evaluation, Gradients


class ExactPoint(NamedTuple):
    """A problem in float64, evaluated at given weights."""

    built: BuiltProblem
    evaluation: Evaluation
    gradients: Gradients

    @property
    def best_multipliers(self) -> Tensor:
        """The non-negative multipliers that make stationarity and slackness least."""
        return best_multipliers(self.evaluation.g, self.gradients)

    def kkt(self, multipliers: Tensor) -> KKT:
        """The three KKT residuals with these multipliers."""
        return residuals(self.evaluation.g, self.gradients, multipliers.to(self.evaluation.g.device)).measured()


def evaluate_exactly(
    train: MultiTaskData, thresholds: Mapping[str, float], experiment: Experiment, weights: Mapping[str, Tensor]
) -> ExactPoint:
    """Evaluate the constrained problem at the weights, in float64."""
    built = experiment.in_float64().build(train, train.priority.name, thresholds)
    x = torch.cat([tensor.flatten() for tensor in built.placed(weights).values()])
    evaluation = built.oracle.evaluate(x, built.oracle.start(x))
    return ExactPoint(built, evaluation, built.oracle.differentiate(evaluation))
