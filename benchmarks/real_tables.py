"""Real data sets with two or three tasks each, for benchmarks: scikit-learn's bundled ones, and published files.

And one that is made up, which no benchmark takes unless it is named (`MADE_UP`).
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from idbpd.datasets import ArffDataset, ComposedDigitsDataset, ComposedImagesDataset, TabularDataset
from idbpd.datasets.table import TaskTable

PUBLISHED = Path(os.environ.get("IDBPD_DATA", "data/01_raw"))


def _bundled(load: Callable[..., Any], tasks: dict[str, Any], **columns: Callable[[pd.DataFrame], Any]) -> TaskTable:
    """A table of scikit-learn, with more columns that follow from its own; read as a user's file is."""
    frame = load(as_frame=True).frame
    for name, made in columns.items():
        frame[name] = made(frame)
    return _as_a_file(frame, tasks)


def _as_a_file(frame: pd.DataFrame, tasks: dict[str, Any]) -> TaskTable:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.to_csv(path, index=False)
        return TabularDataset(filepath=str(path), tasks=tasks).load()


def _adult() -> TaskTable:
    return TabularDataset(
        filepath=[str(PUBLISHED / "adult/adult.data"), str(PUBLISHED / "adult/adult.test")],
        ignore=["fnlwgt"],
        tasks={
            "income": "classification",
            "never_married": {"column": "marital-status", "positive": "Never-married"},
            "hours": "hours-per-week",
        },
    ).load()


def _pupils() -> TaskTable:
    tasks = {"passed": "Score", "grade": "G3", "absences": "absences"}
    return TabularDataset(filepath=str(PUBLISHED / "student/student-mat.csv"), tasks=tasks).load()


def _arff(folder: str, file: str, labels: str | None = None) -> TaskTable:
    return ArffDataset(filepath=str(PUBLISHED / folder / file), labels_file=labels).load()


def _composed(folder: str) -> TaskTable:
    images, classes = (
        {"filepath": str(PUBLISHED / folder / f"train-{what}-ubyte.gz")} for what in ("images-idx3", "labels-idx1")
    )
    return ComposedImagesDataset(images=images, classes=classes, pairs=4000, offset=8, groups=10, seed=0).load()


def _rare_event() -> TaskTable:
    """A price with a heavy tail, a segment of twelve, and an event in 2 to 3 % of the rows."""
    random, rows = np.random.default_rng(0), 1800
    numbers, region = random.normal(size=(rows, 6)), random.choice(list("abcdef"), rows)
    middle = np.exp(2.5 + 0.5 * numbers[:, 0] + 0.3 * numbers[:, 1] + 0.2 * (region == "a"))
    frame = pd.DataFrame(numbers.round(3), columns=[f"x{at}" for at in range(6)])
    frame["region"] = region
    frame["price"] = (middle * (1 + 0.5 * random.pareto(2.5, rows))).round(2)
    utilities = numbers @ random.normal(size=(6, 12)) + random.gumbel(size=(rows, 12))
    frame["segment"] = [f"s{at}" for at in utilities.argmax(axis=1)]
    chance = 1 / (1 + np.exp(5 - 1.3 * numbers[:, 2] - numbers[:, 0]))
    frame["event"] = np.where(random.random(rows) < chance, "yes", "no")
    return _as_a_file(frame, {"price": "price", "segment": "segment", "event": "event"})


MADE_UP: dict[str, Callable[[], TaskTable]] = {"rare_event": _rare_event}

TABLES: dict[str, Callable[[], TaskTable]] = {
    "breast_cancer": lambda: _bundled(
        datasets.load_breast_cancer, {"malignant": {"column": "target", "positive": "0"}, "radius": "worst radius"}
    ),
    "wine": lambda: _bundled(datasets.load_wine, {"cultivar": "target", "alcohol": {"column": "alcohol"}}),
    "digits": lambda: _bundled(
        datasets.load_digits,
        {"digit": "target", "even": "even"},
        even=lambda frame: (frame["target"] % 2 == 0).map({True: "yes", False: "no"}),
    ),
    "diabetes": lambda: _bundled(
        datasets.load_diabetes,
        {"progression": {"column": "target", "kind": "number"}, "pressure": {"column": "bp", "kind": "number"}},
    ),
    "iris": lambda: _bundled(datasets.load_iris, {"species": "target", "width": "petal width (cm)"}),
    "multi_digits": lambda: ComposedDigitsDataset(pairs=3000, seed=0).load(),
    "pupils": _pupils,
    "chd49": lambda: _arff("chd49", "CHD_49.arff", "CHD_49.xml"),
    "yeast": lambda: _arff("yeast", "Yeast.arff", "Yeast.xml"),
    "20ng": lambda: _arff("20ng", "20NG.arff"),
    "adult": _adult,
    "multi_mnist": lambda: _composed("mnist"),
    "multi_fashion": lambda: _composed("fashion-mnist"),
}


def table_of(name: str) -> TaskTable:
    """The table of that name."""
    return (TABLES | MADE_UP)[name]()
