"""What the models of a front reach: a certificate on the training part, and unseen data with standard errors."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.export import export
from idbpd.experiment.limits.calibration import weights_alone
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.quality_metrics import quality_metrics
from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.mtl import Task, TaskQuality, measure_quality
from idbpd.mtl.drawn_quality import DrawnQuality, draw_quality, standard_error
from idbpd.pipelines.frontier.choice import Candidate, recommended
from idbpd.pipelines.frontier.fronts import Front, Ground, Point, Weights

CONSTRAINED, EQUAL, FIXED, ALONE = "constrained", "equal weights", "fixed weights", "each alone"
BY_HAND = "hand"  # what set a limit that does not change along a front
TWO_SIDED = 1.96  # standard errors on either side: 95 %, if errors are normal
RESIDUALS = ("stationarity", "infeasibility", "slackness")


class Exporter(NamedTuple):
    """What a model needs, beside its weights, to be used by others."""

    table: TaskTable
    encoding: dict[str, Any]
    scaling: dict[str, Tensor]


class MeasuredFront(NamedTuple):
    """The points of a front as models to keep, and a row per model and task."""

    points: dict[str, TrackedPoint]
    rows: pd.DataFrame


class _OnTest(NamedTuple):
    """A task on the test part: as it is, and on draws of its samples."""

    quality: TaskQuality
    drawn: DrawnQuality


_ByTask = dict[str, _OnTest]


class _References(NamedTuple):
    """What every model is compared with."""

    alone: _ByTask  # each task by the model made for it alone
    equal: _ByTask


def measure_front(front: Front, exporter: Exporter, split: SplitParameters, residual_limit: float) -> MeasuredFront:
    """Measure all models of a front on the same test samples, and on the same draws of them."""
    ground = front.ground
    alone = {ground.priority: _on_test(ground, front.priority_alone)[ground.priority]}
    for task in ground.train.limited:
        alone[task.name] = _on_test(ground, weights_alone(ground.single_task_weights, task.name))[task.name]
    fixed = {share: _on_test(ground, weights) for share, weights in front.fixed.items()}
    equal = 1 / len(ground.train.tasks)
    references = _References(alone, fixed[equal])
    rows = _rows(ground, {"model": ALONE}, alone, references)
    for share, measured in fixed.items():
        what = {"model": EQUAL if share == equal else FIXED, "weight": share}
        rows += _rows(ground, what, measured, references)
    points, candidates = {}, {}
    for point in front.points:
        certificate = certify(
            ground.train,
            ground.test,
            point.trained.weights,
            point.trained.outcome,
            point.threshold,
            ground.single_task_weights,
            split,
            ground.experiment,
        )
        on_test, residual = _on_test(ground, point.trained.weights), max(certificate[name] for name in RESIDUALS)
        name = f"{ground.priority}_slack_{point.slack:g}"
        points[name] = _tracked(ground, point, certificate, on_test, exporter)
        what = {
            "model": CONSTRAINED,
            "slack": point.slack,
            "verdict": certificate["held_out"]["verdict"],
            "status": certificate["status"],
            "objective": certificate["objective"],
            "residual": residual,
            "certified": residual <= residual_limit,
            "folder": name,
        }
        rows += _rows(ground, what, on_test, references, certificate)
        first = on_test[ground.priority]
        holds = certificate["held_out"]["holds"] and residual <= residual_limit
        candidates[point.slack] = Candidate(holds, first.quality.worst_case_loss, first.drawn.worst_case_loss)
    frame = pd.DataFrame(rows)
    frame["recommended"] = (frame["model"] == CONSTRAINED) & (frame["slack"] == recommended(candidates))
    return MeasuredFront(points, frame)


def _on_test(ground: Ground, weights: Weights) -> _ByTask:
    network = trained_network(ground.experiment.model, ground.train, weights)
    criteria = criteria_of(ground.experiment.problem)
    quality, drawn = measure_quality(network, ground.test, criteria), draw_quality(network, ground.test, criteria)
    return {task: _OnTest(quality[task], drawn[task]) for task in quality}


def _rows(
    ground: Ground,
    what: Mapping[str, Any],
    measured: _ByTask,
    references: _References,
    certificate: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """A row per task, in the order of the tasks.

    ``relative`` is to the model made for the task alone, ``against_equal`` the difference to the model with equal
    weights. Both are on the same samples, so that their errors are smaller than those of the two losses.
    """
    limits = {} if certificate is None else certificate["held_out"]["tasks"]
    rows = []
    for task in ground.train.tasks:
        found = measured[task.name]
        alone, equal = references.alone[task.name], references.equal[task.name]
        measure, value = found.quality.headline
        loss, drawn = found.quality.worst_case_loss, found.drawn.worst_case_loss
        of_alone = alone.quality.worst_case_loss
        row = {
            "priority": ground.priority,
            "own_priority": ground.is_own,
            **what,
            "task": task.name,
            "worst_case_loss": loss,
            "worst_case_loss_se": standard_error(drawn),
            "relative": loss / of_alone if of_alone > 0 else float("nan"),
            "relative_se": standard_error(drawn / alone.drawn.worst_case_loss),
            "against_equal": loss - equal.quality.worst_case_loss,
            "against_equal_se": standard_error(drawn - equal.drawn.worst_case_loss),
            "measure": measure,
            "value": value,
            "value_se": standard_error(found.drawn.headline),
        }
        if task.name in limits:
            judged = limits[task.name]
            row |= {
                "limit": judged["reference"],
                "upper_bound": judged["upper_bound"],
                "verdict_of_task": judged["verdict"],
                "limit_set_by": _parameter(task, by_hand=judged["slack"] is None),
            }
        rows.append(row)
    return rows


def _parameter(task: Task, *, by_hand: bool) -> str:
    """What sets the limit of a task: a plain run needs it to have the same limit."""
    if by_hand:
        return BY_HAND
    return f"tasks.{task.name}.slack" if "slack" in task.options else "calibration.slack"


def _tracked(
    ground: Ground, point: Point, certificate: dict[str, Any], on_test: _ByTask, exporter: Exporter
) -> TrackedPoint:
    experiment, weights = ground.experiment, point.trained.weights
    network = trained_network(experiment.model, ground.train, weights)
    qualities = {
        "train": measure_quality(network, ground.train, criteria_of(experiment.problem)),
        "test": {task: found.quality for task, found in on_test.items()},
    }
    verdict = certificate["held_out"]["verdict"]
    results = {
        "weights": weights,
        "history": point.trained.history,
        "outcome": {**point.trained.outcome, "verdict": verdict, "slack": point.slack},
        "certificate": certificate,
        "quality": quality_metrics(qualities, certificate),
        "model": export(
            exporter.table,
            ground.train,
            exporter.encoding,
            exporter.scaling,
            weights,
            experiment.model,
            experiment.problem,
        ),
    }
    return TrackedPoint({"priority": ground.priority, "slack": f"{point.slack:g}"}, results)
