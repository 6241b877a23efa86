"""From a file with columns of every kind to a certified model whose worst case is taken over groups."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from idbpd.datasets import MultiTaskDataset, TabularDataset
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    SplitParameters,
    TasksParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import MultiTaskData, sample_losses
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import COMPUTE

SPLIT = SplitParameters(test_fraction=0.3, seed=0)
GIVEN = {"lambda": 0.1, "weight_decay": 1e-2}


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two regions whose customers answer the opposite way: nine of ten live in one, so a mean forgets the other."""
    random = np.random.default_rng(0)
    rows = 400
    age, visits = random.normal(40, 10, rows), random.normal(size=rows)
    north = random.random(rows) < 0.9
    churned = np.where(north, age > 40, age < 40) ^ (random.random(rows) < 0.05)
    frame = pd.DataFrame(
        {
            "id": [f"c{at}" for at in range(rows)],
            "age": age.round(2),
            "visits": visits.round(4),
            "region": np.where(north, "north", "south"),
            "churned": np.where(churned, "yes", "no"),
            "spend": (10 * visits + random.normal(size=rows)).round(3),
        }
    )
    path = tmp_path_factory.mktemp("table") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


def _trained(table_file: Path, worst_case: Any, **of_tasks: Any) -> tuple[MultiTaskData, dict[str, Any], Any]:
    source = TabularDataset(
        filepath=str(table_file),
        tasks={"churn": "churned", "spend": {"column": "spend", "kind": "number"}},
        ignore=["region"],  # the model must not see it, and protects it all the same
        groups=["region"],
    )
    settings = ProblemSettings.model_validate({**GIVEN, "worst_case": worst_case})
    tasks = TasksParameters.model_validate({task: {"worst_case": given} for task, given in of_tasks.items()})
    parts = split(source.load(), Division(SPLIT, FeatureParameters(), tasks, None, settings))
    stored = MultiTaskDataset(filepath=str(table_file.with_name("train.safetensors")))
    stored.save(parts.train)
    train = stored.load()
    problem = ProblemParameters.model_validate({**GIVEN, "worst_case": worst_case})
    experiment = Experiment(ModelParameters(hidden=8), problem, COMPUTE, 0, parts.fingerprint)
    budget = {"max_steps": 3000, "tolerance": 1e-3}  # as the default has
    threshold, start, alone = calibrate(train, CalibrationParameters(slack=0.1, **budget), experiment)  # type: ignore[arg-type]
    training = TrainingParameters(start="calibrated", **budget)  # type: ignore[arg-type]
    weights, _, _, outcome = train_constrained(train, threshold, start, training, experiment)
    certificate = certify(train, parts.test, weights, outcome, threshold, alone, SPLIT, experiment)
    built = experiment.build(train, "churn", {})
    losses = sample_losses(built.network_with(built.placed(weights)), built.data, criteria_of(problem))
    return train, certificate, losses


def test_the_worst_group_is_better_than_with_the_mean(table_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        train, certificate, losses = _trained(table_file, "mean", churn={"groups": "region"})
    task = train["churn"]
    assert certificate["status"] == "CONVERGED"
    assert max(certificate[name] for name in ("stationarity", "infeasibility", "slackness")) <= 2e-3
    assert task.group_names == ("north", "south")
    assert train["spend"].groups is None
    assert list(certificate["protects"]) == ["churn", "spend"]
    assert certificate["protects"]["churn"].startswith(
        f"whatever mixture of the 2 groups of region the {task.size} samples of churn come from: "
    )
    assert f"the worst case of the churn task protects {certificate['protects']['churn']}" in caplog.messages
    assert certificate["held_out"]["tasks"]["spend"]["upper_bound"] >= 0
    _, _, with_mean = _trained(table_file, "mean")

    def worst_group(found: Any) -> float:
        return max(float(found["churn"][task.groups == group].mean()) for group in range(2))

    assert worst_group(losses) < 0.7 * worst_group(with_mean)


@pytest.mark.parametrize("worst_case", [{"share": 0.3}, {"groups": "region"}, {"chi2": 0.5}, {"kl": 0.5}], ids=str)
def test_every_worst_case_trains_to_a_certificate(table_file: Path, worst_case: Any) -> None:
    _, certificate, _ = _trained(table_file, worst_case)
    assert certificate["infeasibility"] <= 1e-3
    assert certificate["stationarity"] <= 2e-2
    assert certificate["held_out"]["tasks"]["spend"]["upper_bound"] >= 0
