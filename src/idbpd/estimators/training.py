"""The stages of ``kedro run`` on a table in memory, from its split to the certificate."""

from typing import Any, NamedTuple

import pandas as pd
import torch

from idbpd.datasets.table import TaskTable
from idbpd.estimators.settings import Settings
from idbpd.experiment.export import export
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.machine.computing import computing, threads_for
from idbpd.experiment.problem import Experiment
from idbpd.experiment.splitting.table_split import split_tasks
from idbpd.experiment.splitting.task_targets import task_targets
from idbpd.mtl import ExportedModel
from idbpd.pipelines.calibration.nodes import calibrate_with_reserve, settle_reserve
from idbpd.pipelines.training.nodes import train_constrained
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.terminal import bars


class Fitted(NamedTuple):
    """A trained model and all that is known of it."""

    model: ExportedModel
    certificate: dict[str, Any]  # as in certificate.json
    threshold: dict[str, Any]  # how the limits were found, as in threshold.json
    weight_decay: dict[str, Any]  # how it was chosen, as in weight_decay.json
    history: pd.DataFrame  # by step


def fit(table: TaskTable, settings: Settings, *, show_progress: bool) -> Fitted:
    """Train under limits; the functions are the nodes of the default pipeline, in their order."""
    compute = settings.compute
    threads = threads_for([table], torch.get_num_threads()) if compute.threads == "auto" else compute.threads
    with computing(threads, deterministic=compute.deterministic), bars(shown=show_progress):
        division, training, search = settings.division, settings.training, settings.search
        parts = split_tasks(table, task_targets(table, division), division)
        unsettled = settings.unsettled(parts.fingerprint)
        problem, chosen, validated_weights = settle_weight_decay(
            table, parts.rows, search, division, training, unsettled
        )
        experiment = Experiment(settings.model, problem, compute, settings.seed, parts.fingerprint)
        reserve = settle_reserve(
            parts.train,
            table,
            parts.rows,
            settings.calibration,
            search,
            training,
            validated_weights,
            division,
            experiment,
        )
        threshold, calibrated, alone = calibrate_with_reserve(parts.train, settings.calibration, reserve, experiment)
        trained = train_constrained(parts.train, threshold, calibrated, training, experiment)
        certificate = certify(
            parts.train,
            parts.test,
            trained.weights,
            trained.outcome,
            threshold,
            alone,
            division.split,
            experiment,
        )
        model = export(table, parts.train, parts.encoding, parts.scaling, trained.weights, settings.model, problem)
    return Fitted(model, certificate, threshold, chosen, trained.history)
