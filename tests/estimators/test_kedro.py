"""The estimators are `kedro run` without Kedro: the same defaults, the same digits, and none of its imports."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import idbpd
from idbpd.estimators import RobustMultiTaskClassifier
from idbpd.estimators.settings import CALIBRATION, CALIBRATION_TOLERANCE, SEARCH
from idbpd.experiment.parameters import CalibrationParameters, TrainingParameters
from tests.kedro_project import PROJECT, KedroProject


def _stated(file: str) -> dict[str, Any]:
    stated: dict[str, Any] = yaml.safe_load((PROJECT / "conf" / "base" / file).read_text(encoding="utf-8"))
    return stated


def test_the_defaults_are_those_of_kedro_run() -> None:
    shared = _stated("parameters.yml")
    calibration = _stated("parameters_calibration.yml")["calibration"]
    training = _stated("parameters_training.yml")["training"]
    given = inspect.signature(RobustMultiTaskClassifier).parameters
    ours = {name: parameter.default for name, parameter in given.items()}
    problem, compute = shared["problem"], shared["compute"]
    assert problem["lambda"] is None
    expected = {
        **{name: problem[name] for name in ("loss", "worst_case", "beyond_limits", "weight_decay")},
        **{name: compute[name] for name in ("device", "dtype", "threads")},
        **{name: calibration[name] for name in ("slack", "reserve")},
        **{name: training[name] for name in ("max_steps", "tolerance")},
        "hidden": shared["model"]["hidden"],
        "test_fraction": _stated("parameters_splitting.yml")["split"]["test_fraction"],
        "random_state": _stated("globals.yml")["seed"],
        "priority": None,
        "tasks": None,
        "verbose": False,
    }
    assert ours == expected
    assert compute["deterministic"] is True
    assert _stated("parameters_weight_decay.yml")["weight_decay_search"] == SEARCH
    assert {name: calibration[name] for name in CALIBRATION} == CALIBRATION
    assert calibration["max_steps"] == training["max_steps"]
    assert calibration["tolerance"] == CALIBRATION_TOLERANCE * training["tolerance"]
    assert CalibrationParameters(**calibration).threshold is None
    assert TrainingParameters(**{**training, "method": "idbpd"}).start == "calibrated"


def test_the_estimator_gives_the_digits_of_kedro_run(tracked_project: KedroProject, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = 150
    X = pd.DataFrame({"a": draw.normal(size=rows), "b": draw.normal(size=rows), "c": draw.choice(["x", "y"], rows)})
    Y = pd.DataFrame({"first": (X.a + draw.normal(size=rows) > 0).astype(int), "second": (X.a > X.b).astype(int)})
    project = tracked_project
    file = tmp_path / "table.csv"
    X.join(Y).to_csv(file, index=False)
    block = {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": str(file),
        "tasks": {"first": "first", "second": "second"},
    }
    project.configure("sources.yml", {"mine": block})
    project.kedro(
        "run", "--to-outputs=certificate", params="dataset=mine,training.max_steps=40,calibration.max_steps=40"
    )
    (path,) = (project.data / "08_reporting").rglob("certificate.json")
    expected = json.loads(path.read_text())
    model = RobustMultiTaskClassifier(max_steps=40).fit(X, Y)
    assert json.loads(json.dumps(model.certificate_)) == expected


def test_neither_kedro_nor_mlflow_is_imported() -> None:
    program = (
        "import sys, numpy as np, idbpd\n"
        "X = np.random.default_rng(0).normal(size=(60, 2))\n"
        "model = idbpd.RobustMultiTaskClassifier(hidden=2, max_steps=3, weight_decay=0.01).fit(X, X > 0)\n"
        "model.predict_proba(X), idbpd.train_module\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('kedro', 'kedro_datasets', 'mlflow')])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_names_of_the_package_are_found() -> None:
    assert all(getattr(idbpd, name) for name in idbpd.__all__)
    with pytest.raises(AttributeError, match="module 'idbpd' has no attribute 'Nothing'"):
        idbpd.Nothing  # noqa: B018
