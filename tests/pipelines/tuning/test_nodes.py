"""The paper's grid: what a trial leaves behind, how the best is chosen, and that a run can take it."""

from typing import Any

import pandas as pd
import pytest
import yaml

from idbpd.baselines import METHODS, grid, make_method, method_options
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.method_parameters import MethodsParameters
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.records.provenance import parameters_of
from idbpd.pipelines.tuning.nodes import choose
from idbpd.pipelines.tuning.parameters import TuningParameters
from idbpd.pipelines.tuning.pipeline import ALPHAS, GAMMAS
from tests.kedro_project import PROJECT, KedroProject

FINGERPRINT = {"split_sha256": "s"}
THRESHOLD: dict[str, Any] = {"threshold": 0.5}
TUNING = TuningParameters(max_steps=5, seconds=None)
TRAINING = TrainingParameters(start="calibrated", max_steps=7, tolerance=1e-3)
MODEL, COMPUTE = ModelParameters(hidden=4), ComputeParameters(device="cpu", dtype="float32")
PROBLEM = ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 0.0})
EXPERIMENT = Experiment(MODEL, PROBLEM, COMPUTE, seed=3, fingerprint=FINGERPRINT)
MADE_WITH = {
    **EXPERIMENT.made_with,
    **parameters_of("tuning", TUNING),
    "training.start": "calibrated",
    "training.tolerance": 1e-3,
    "threshold": 0.5,
}


def _trial(gamma: float, worst: float, **more: Any) -> dict[str, Any]:
    residuals = {"worst": worst, "stationarity": worst, "infeasibility": 0.0, "slackness": 0.0, "objective": 1.0}
    return {
        "gamma": gamma,
        "alpha": 0.2,
        **residuals,
        "status": "MAX_STEPS",
        "steps": 5,
        "made_with": MADE_WITH,
        **more,
    }


def _choose(*trials: dict[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]]:
    split = SplitParameters(test_fraction=0.2, seed=0)
    calibration = CalibrationParameters(slack=0.1, max_steps=9, tolerance=1e-2)
    blocks = (split, FeatureParameters(), calibration, TUNING, TRAINING)
    return choose("mine", *blocks, THRESHOLD, EXPERIMENT, *trials)


def test_the_best_pair_has_the_smallest_worst_residual() -> None:
    table, tuned = _choose(_trial(1e-4, 0.3), _trial(1e-3, 0.1), _trial(1e-2, float("inf")))
    assert table["gamma"].tolist() == [1e-3, 1e-4, 1e-2]
    parameters = tuned["run"]["params"]
    assert parameters["methods"] == {"idbpd_paper": {"gamma": 1e-3, "alpha": 0.2}}
    assert parameters["training"]["method"] == "idbpd_paper"
    assert (parameters["dataset"], parameters["seed"], parameters["problem"]["lambda"]) == ("mine", 3, 0.1)


def test_trials_of_another_setting_are_refused() -> None:
    other = _trial(1e-2, 0.2, made_with={**MADE_WITH, "problem.lambda": 0.5})
    with pytest.raises(ConfigurationError, match=r"gamma 0.01 and alpha 0.2 was made with problem.lambda = 0.5, this"):
        _choose(_trial(1e-3, 0.1), other)


def test_a_grid_that_diverged_everywhere_has_no_best() -> None:
    with pytest.raises(DataError, match="every trial diverged"):
        _choose(_trial(1e-3, float("inf")))


def test_the_grid_is_that_of_the_method() -> None:
    named = [{"gamma": float(gamma), "alpha": float(alpha)} for gamma in GAMMAS for alpha in ALPHAS]
    assert named == grid("idbpd_paper")


def test_the_parameters_file_has_the_defaults_of_the_methods() -> None:
    loader = type("_Loader", (yaml.SafeLoader,), {})
    stored = yaml.load((PROJECT / "conf/base/parameters_training.yml").read_text(), loader)["methods"]
    assert MethodsParameters(**stored) == MethodsParameters()
    for name in METHODS:
        options = MethodsParameters().of(name, 3000)
        defaults = method_options(name)
        assert options == {option: defaults[option] for option in options}
        make_method(name, options)


@pytest.mark.slow
def test_a_run_uses_the_options_that_the_grid_found(tracked_project: KedroProject) -> None:
    project = tracked_project
    small = {
        "calibration": {"max_steps": 3},
        "training": {"max_steps": 3},
        "tuning": {"max_steps": 2},
        "problem": {"weight_decay": 1e-3},
        "model": {"hidden": 4},
    }
    project.configure("parameters.yml", small)
    project.configure("sources.yml", {"multi_digits": {"pairs": 120}})
    printed = project.kedro("run", "--pipeline", "tune")
    file = "data/08_reporting/multi_digits/tuned.yml"
    assert f"kedro run --config {file}" in printed
    tuned = yaml.safe_load((project.path / file).read_text())["run"]["params"]["methods"]["idbpd_paper"]

    # A pair that is missing is tried again, the others are not.
    for result in (project.data / "07_model_output/multi_digits/tuning").glob("gamma_5e-3_alpha_2e-1.*"):
        result.unlink()
    (project.path / file).unlink()
    again = project.kedro("run", "--pipeline", "tune", "--only-missing-outputs")
    assert [line.split(":")[1] for line in again.splitlines() if line.startswith("trial ")] == [
        " gamma 5e-3, alpha 2e-1"
    ]

    project.kedro("run", "--config", file)
    client, runs = project.tracked_runs()
    children = [run for run in runs if run.data.tags.get("method") == "idbpd_paper"]
    trials = [run for run in children if "gamma" in run.data.tags]
    assert len(trials) == 24 + 1
    assert all(run.info.status == "FINISHED" and "final_worst" in run.data.metrics for run in trials)
    (trained,) = [run for run in children if "gamma" not in run.data.tags]
    assert trained.data.metrics["steps"] == 3
    parent = client.get_run(trained.data.tags["mlflow.parentRunId"])
    assert float(parent.data.params["methods.idbpd_paper.gamma"]) == tuned["gamma"]
    assert float(parent.data.params["methods.idbpd_paper.alpha"]) == tuned["alpha"]
