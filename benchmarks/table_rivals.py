"""What scikit-learn gives on the same rows: a linear model and a network of the same width, one per task.

The features pass a ColumnTransformer of scikit-learn's own, fitted on the training rows: medians and a mark for missing
numbers, which are standardised, and one column per category. All else is scikit-learn's default.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.mtl import Criteria, Kind, MultiTaskData, Task, TaskQuality
from idbpd.mtl.quality import task_quality

WIDTH = 100
LINEAR, NETWORK, STOPPED = "linear model", "MLP", "MLP, early stopping"

Maker = Callable[[int], Any]  # from a seed
CLASSIFIERS: Mapping[str, Maker] = {
    LINEAR: lambda _: LogisticRegression(max_iter=1000),
    NETWORK: lambda seed: MLPClassifier(hidden_layer_sizes=(WIDTH,), random_state=seed),
    STOPPED: lambda seed: MLPClassifier(hidden_layer_sizes=(WIDTH,), random_state=seed, early_stopping=True),
}
REGRESSORS: Mapping[str, Maker] = {
    LINEAR: lambda _: Ridge(),
    NETWORK: lambda seed: MLPRegressor(hidden_layer_sizes=(WIDTH,), random_state=seed),
    STOPPED: lambda seed: MLPRegressor(hidden_layer_sizes=(WIDTH,), random_state=seed, early_stopping=True),
}


def measure_rivals(
    table: TaskTable, rows: Mapping[str, Tensor], parts: Mapping[str, MultiTaskData], criteria: Criteria, seed: int
) -> tuple[dict[str, dict[str, TaskQuality]], dict[str, float]]:
    """The quality on the test part by model and task, and the processor time of a model's fits for all tasks."""
    frames = {part: table.frame(rows[part].numpy()) for part in ("train", "test")}
    quality: dict[str, dict[str, TaskQuality]] = {name: {} for name in CLASSIFIERS}
    seconds = dict.fromkeys(CLASSIFIERS, 0.0)
    for learnt in parts["train"].tasks:
        asked = parts["test"][learnt.name]
        makers = REGRESSORS if learnt.meaning.kind == "number" else CLASSIFIERS
        for name, maker in makers.items():
            model = make_pipeline(_features(table), maker(seed))
            begin = time.process_time()
            # One thread, as idbpd has: processor time counts threads that only wait.
            with threadpool_limits(1), warnings.catch_warnings():
                # The default number of passes is part of what is compared; that it was reached is no news.
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(frames["train"].iloc[learnt.rows.numpy()], _answers(learnt))
            seconds[name] += time.process_time() - begin
            outputs = _outputs(model, frames["test"].iloc[asked.rows.numpy()], asked)
            quality[name][learnt.name] = task_quality(asked, outputs, criteria(asked))
    return quality, seconds


def _features(table: TaskTable) -> ColumnTransformer:
    assert isinstance(table.features, tuple)  # a table that was read from a CSV file has columns
    named: dict[str, list[str]] = {"number": [], "category": []}
    for column in table.features:
        named[column.role].append(column.name)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    return ColumnTransformer([("numbers", numbers, named["number"]), ("categories", categories, named["category"])])


def _answers(task: Task) -> NDArray[Any]:
    """The targets in the form that scikit-learn wants; a number stays standardised, as idbpd learns it."""
    kind: Kind = task.meaning.kind
    assert kind in ("binary", "classes", "number")
    targets = task.targets.numpy()
    return targets.argmax(axis=1) if kind == "classes" else targets[:, 0]


def _outputs(model: Pipeline, frame: Any, task: Task) -> Tensor:
    """Predictions as the outputs of a network, so that one and the same code measures all models."""
    if task.meaning.kind == "number":
        return torch.from_numpy(model.predict(frame).reshape(-1, 1))
    chances = np.clip(model.predict_proba(frame), 1e-7, 1 - 1e-7)
    if task.meaning.kind == "binary":
        return torch.from_numpy(chances[:, 1:]).logit()
    # A class without a training row is unknown to scikit-learn.
    complete = np.full((len(chances), len(task.labels)), 1e-7)
    complete[:, model.classes_] = chances
    return torch.from_numpy(complete).log()
