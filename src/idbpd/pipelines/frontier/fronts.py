"""Train the models of a front: from the tightest limits to the loosest, and with fixed weights next to them."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.experiment.fixed_weights import task_weights, with_fixed_weights
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.method_parameters import MethodsParameters
from idbpd.experiment.parameters import TrainingParameters
from idbpd.experiment.problem import BuiltProblem, Experiment, weights_of
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.constrained_training import Names, Trained, train_under_limits
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.endings import say_how_it_ended
from idbpd.experiment.solving.stage import Stage
from idbpd.mtl import MultiTaskData
from idbpd.optim import IDBPD
from idbpd.pipelines.frontier.limits import limits_at
from idbpd.pipelines.frontier.parameters import FrontierParameters

Weights = dict[str, Tensor]


class Ground(NamedTuple):
    """What all models of a front share: the data, the task with priority, and the calibration of the others."""

    train: MultiTaskData
    test: MultiTaskData
    threshold: dict[str, Any]
    calibrated_weights: Weights
    single_task_weights: Weights  # of each limited task alone, by <task>/<parameter>
    experiment: Experiment
    is_own: bool  # whether it is the priority of the run itself

    @property
    def priority(self) -> str:
        """The task whose worst case is minimised."""
        return self.train.priority.name


class Point(NamedTuple):
    """A model under the limits of one slack."""

    slack: float
    threshold: dict[str, Any]  # the record of calibration with these limits
    trained: Trained


class Front(NamedTuple):
    """The models of a front, the tightest limits first."""

    ground: Ground
    points: list[Point]
    fixed: dict[float, Weights]  # by the weight of the priority task
    priority_alone: Weights


class Trainer(NamedTuple):
    """How every model of a frontier is trained."""

    frontier: FrontierParameters
    training: TrainingParameters
    methods: MethodsParameters
    checkpointing: Checkpointing

    def train(self, ground: Ground) -> Front:
        """All models of a front."""
        fixed = self._fixed(ground)
        return Front(ground, self._points(ground, fixed), fixed, self._alone(ground))

    def _points(self, ground: Ground, fixed: Mapping[float, Weights]) -> list[Point]:
        """One model per slack, the tightest first.

        The weights of a point keep looser limits too, so that the priority task only gets better from point to point.
        """
        points = []
        before = ground.calibrated_weights if self.training.start == "calibrated" else None
        for slack in self.frontier.slacks:
            threshold = limits_at(ground.threshold, slack)
            title = f"{ground.priority} first, slack {slack:g}"
            names = Names(f"frontier_{ground.priority}_slack_{slack:g}", title, title)
            trained = train_under_limits(
                names,
                ground.train,
                threshold,
                self._start(ground, threshold, before, fixed),
                self.training,
                self.methods,
                ground.experiment,
                self.checkpointing,
            )
            points.append(Point(slack, threshold, trained))
            before = trained.weights
        return points

    def _start(
        self, ground: Ground, threshold: Mapping[str, Any], before: Weights | None, fixed: Mapping[float, Weights]
    ) -> Weights:
        """The best known weights that keep the limits: those of the point before, or a model with fixed weights.

        The problem is not convex, and the point before may be in a bad valley. So on the training part no model with
        fixed weights that keeps the limits is better than the point. Where none keeps them, it is the point before.
        """
        built = ground.experiment.build(ground.train, ground.priority, thresholds_of(threshold))
        first = built.initial_weights if before is None else built.placed(before)

        def objective(weights: Weights) -> float:
            x = torch.cat([tensor.flatten() for tensor in weights.values()])
            found = built.oracle.evaluate(x, built.oracle.start(x))
            return found.f.item() if found.g.max().item() <= self.training.tolerance else math.inf

        return min([first, *map(built.placed, fixed.values())], key=objective)

    def _fixed(self, ground: Ground) -> dict[float, Weights]:
        """Models without limits, by the weight of the priority task; equal weights are always among them."""
        equal = 1 / len(ground.train.tasks)
        shares = sorted({equal, *self.frontier.weights})
        found: dict[float, Weights] = {}
        start: Mapping[str, Tensor] = ground.calibrated_weights
        for share in shares:
            weights = task_weights(ground.train, share)
            built = with_fixed_weights(ground.experiment, ground.train, weights)
            found[share] = self._without_limits(ground, built, f"weight {share:.3g}", built.start_from(start))
            start = found[share]
        return found

    def _alone(self, ground: Ground) -> Weights:
        """The priority task alone: the others have no part in what is learnt."""
        experiment = ground.experiment.of_task_alone(ground.priority)
        built = experiment.build(ground.train, ground.priority, {})
        return self._without_limits(ground, built, "alone", built.placed(ground.calibrated_weights))

    def _without_limits(self, ground: Ground, built: BuiltProblem, what: str, start: Weights) -> Weights:
        """By the default method, whatever ``training.method`` is: the model is what counts, not how it was found."""
        made_with = {**ground.experiment.made_with, **parameters_of("training", self.training), "trained": what}
        title = f"{ground.priority} {what}" if what == "alone" else f"{ground.priority} with {what}"
        stage = Stage(f"frontier_{ground.priority}_{what.replace(' ', '_')}", title, made_with, self.checkpointing)
        budget = Budget(self.training.max_steps, self.training.tolerance)
        timed = stage.solve(built, {}, start, budget, IDBPD())
        say_how_it_ended(title, timed, self.training.tolerance, {})
        return weights_of(timed.solution)
