"""Train the fronts, and measure every model of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.method_parameters import DEFAULT_METHODS, MethodsParameters
from idbpd.experiment.parameters import CalibrationParameters, SplitParameters, TrainingParameters
from idbpd.experiment.problem import Experiment
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.records.provenance import require_same
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split as split_table
from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.frontier.fronts import Front, Ground, Trainer
from idbpd.pipelines.frontier.measured import Exporter, measure_front
from idbpd.pipelines.frontier.parameters import FrontierParameters


def train_fronts(
    frontier_priorities: list[str],
    table: TaskTable,
    train: MultiTaskData,
    test: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    single_task_weights: dict[str, Tensor],
    frontier: FrontierParameters,
    calibration: CalibrationParameters,
    training: TrainingParameters,
    division: Division,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    methods: MethodsParameters = DEFAULT_METHODS,
    calibration_cache: ContentStore | None = None,
) -> list[Front]:
    """A front for every task that gets priority. One calibration serves all its points.

    Where another task than the run's own has priority, the tasks are put into that order as `kedro run --params
    priority=...` does, and calibrated anew. Weight decay and reserves stay those of the run.
    """
    require_same(threshold["made_with"], experiment.made_with, "threshold", "calibrate")
    trainer = Trainer(frontier, training, methods, checkpointing)
    fronts = []
    for priority in frontier_priorities:
        if priority == train.priority.name:
            ground = Ground(train, test, threshold, calibrated_weights, single_task_weights, experiment, is_own=True)
        else:
            parts = split_table(table, replace(division, priority=priority))
            of_priority = replace(experiment, fingerprint=parts.fingerprint)
            reserves = _reserves(parts.train, threshold)
            calibrated = calibrate(parts.train, calibration, of_priority, checkpointing, calibration_cache, reserves)
            ground = Ground(parts.train, parts.test, *calibrated, of_priority, is_own=False)
        fronts.append(trainer.train(ground))
    return fronts


def _reserves(train: MultiTaskData, threshold: Mapping[str, Any]) -> dict[str, float]:
    """The reserves of the run; the task that had priority there has none, and gets the largest of the others."""
    known = {name: float(record["reserve"]) for name, record in threshold["tasks"].items()}
    return {task.name: known.get(task.name, max(known.values())) for task in train.limited}


def measure_fronts(
    fronts: list[Front],
    table: TaskTable,
    encoding: dict[str, Any],
    scaling: dict[str, Tensor],
    split: SplitParameters,
    frontier: FrontierParameters,
) -> tuple[dict[str, TrackedPoint], pd.DataFrame]:
    """Every point as a model with its certificate, and all models next to each other: a row per model and task."""
    exporter = Exporter(table, encoding, scaling)
    measured = [measure_front(front, exporter, split, frontier.residual_limit) for front in fronts]
    points = {name: point for one in measured for name, point in one.points.items()}
    return points, pd.concat([one.rows for one in measured], ignore_index=True)
