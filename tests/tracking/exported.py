"""Small models as training exports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from idbpd.experiment.features import encoded, feature_names, fit_encoding
from idbpd.mtl import (
    AnsweredTask,
    AnswerNetwork,
    CrossEntropy,
    ExportedModel,
    FeatureScaling,
    Logistic,
    Meaning,
    SharedNetwork,
    Squared,
)
from tests.experiment.features.tables import mixed_table

MIXED = (
    AnsweredTask("income", (">50K",), Meaning("binary", other="<=50K")),
    AnsweredTask("plan", ("basic", "gold", "none"), Meaning("classes")),
    AnsweredTask("topics", ("sports", "news"), Meaning("labels")),
    AnsweredTask("spend", ("spend",), Meaning("number", center=1000.0, scale=20.0)),
    AnsweredTask("mood", ("good", "bad"), Meaning("distribution")),
)
LOSSES = (Logistic(), CrossEntropy(), Logistic(), Squared(), CrossEntropy())


def model_of_numbers(
    features: tuple[str, ...],
    tasks: Mapping[str, tuple[str, ...]],
    *,
    network: nn.Module | None = None,
    scaling: FeatureScaling | None = None,
    dtype: torch.dtype = torch.float32,
) -> ExportedModel:
    """A model of number columns whose medians are 0, and of tasks that are distributions over labels."""
    if network is None:
        network = SharedNetwork(len(features), 5, [len(labels) for labels in tasks.values()])
    example = torch.randn(2, len(features), dtype=dtype)
    return ExportedModel(
        AnswerNetwork(network, scaling),
        {
            "columns": list(features),
            "numbers": [{"name": name, "median": 0.0, "gap": False} for name in features],
            "categories": [],
            "dates": [],
        },
        tuple(AnsweredTask(name, labels, Meaning()) for name, labels in tasks.items()),
        example,
        [dict(zip(features, row, strict=True)) for row in example.tolist()],
    )


def mixed_model(seed: int = 0) -> ExportedModel:
    """A model of columns of every role, with a task of every kind."""
    table, rows = mixed_table(), np.arange(100)
    encoding = fit_encoding(table, rows)
    width = len(feature_names(encoding))
    torch.manual_seed(seed)
    network = SharedNetwork(width, 5, [len(task.outputs) for task in MIXED])
    two = np.arange(2)
    example: list[dict[str, Any]] = [
        {
            "age": 30,
            "work": "Private",
            "income": 0.5,
            "plan": "yes",
            "joined": "2021-02-03",
            "seen": "2021-02-03T04:30",
        },
        {"age": 51.5, "work": None, "income": None, "plan": "no", "joined": None, "seen": "2020-01-01T00:00"},
    ]
    features = torch.from_numpy(encoded(table, two, encoding))
    scaling = FeatureScaling(torch.zeros(width), torch.full((width,), 100.0))
    return ExportedModel(AnswerNetwork(network, scaling, LOSSES), encoding, MIXED, features, example, ("id",))
