"""A trained model as others use it."""

import json
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from idbpd.datasets.table import TaskTable
from idbpd.experiment.features import encoded
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import AnsweredTask, AnswerNetwork, ExportedModel, FeatureScaling, MultiTaskData


def export(
    table: TaskTable,
    train: MultiTaskData,
    encoding: dict[str, Any],
    scaling: dict[str, Tensor],
    weights: dict[str, Tensor],
    model: ModelParameters,
    problem: ProblemParameters,
) -> ExportedModel:
    """The trained model as others use it: raw columns in, answers to every task out; and an example of two rows."""
    return export_network(table, train, encoding, scaling, trained_network(model, train, weights), problem)


def export_network(
    table: TaskTable,
    train: MultiTaskData,
    encoding: dict[str, Any],
    scaling: dict[str, Tensor],
    network: nn.Module,
    problem: ProblemParameters,
) -> ExportedModel:
    """The same for a given network, whose layers may be narrower than the parameters say: pruning removes units."""
    scale = FeatureScaling(scaling["center"], scaling["scale"])
    criteria = criteria_of(problem)
    losses = [criteria(task).loss for task in train.tasks]
    two = np.arange(2)
    return ExportedModel(
        network=AnswerNetwork(network, scale, losses),
        encoding=encoding,
        tasks=tuple(AnsweredTask.of(task) for task in train.tasks),
        features=torch.from_numpy(encoded(table, two, encoding)).to(train.features.dtype),
        example=json.loads(table.frame(two).to_json(orient="records", date_format="iso")),
        identifiers=table.identifiers,
    )
