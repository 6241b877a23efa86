"""A table with everything in it, from the raw file to answers: what a person with a CSV file does in a day."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from tests.kedro_project import KedroProject

pytestmark = [pytest.mark.xdist_group("mixed table"), pytest.mark.slow]
ROWS = 240
BLOCK: dict[str, Any] = {
    "customers": {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": "data/01_raw/customers.csv",
        "tasks": {
            "churn": "churned",
            "spend": {"column": "next_month", "slack": 9.0},
            "plan": "next_plan",
            "topics": ["sports", "music"],
        },
    }
}
PARAMETERS: dict[str, Any] = {
    "model": {"hidden": 8},
    # Gaps are not to be learnt, so that the nearly worst single sample says little of so small a table.
    "problem": {"weight_decay": 0.001, "worst_case": "mean"},
    "calibration": {"slack": 9.0, "max_steps": 60},
    "training": {"max_steps": 100},
    "comparison": {"sweep": []},
    # This is about the way of the data, so limits and gates are wide: after so few steps no model is a good one.
    "retrain": {"residual_limit": 1.0e3, "train_tolerance": 1.0e3, "accept_not_shown": True},
}
RUN = ("run", "--params", "dataset=customers")


def _customers() -> pd.DataFrame:
    """Numbers, names, dates and an identifier, with gaps; yes or no, a number, classes and labels to predict."""
    random = np.random.default_rng(0)
    age = random.integers(18, 80, ROWS)
    region = random.choice(["north", "south", "east"], ROWS)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 1500, ROWS), unit="D")
    frame = pd.DataFrame(
        {
            "customer": [f"C{number:04d}" for number in range(ROWS)],
            "age": age.astype(float),
            "region": region,
            "since": since.strftime("%Y-%m-%d"),
            "churned": np.where(age < 40, "yes", "no"),
            "next_month": np.round(5.0 * age + random.normal(0, 10, ROWS), 2),
            "next_plan": np.where(region == "north", "basic", np.where(age > 50, "family", "single")),
            "sports": (region == "south").astype(int),
            "music": (age < 30).astype(int),
        }
    )
    for column, share in {"age": 0.04, "region": 0.05, "since": 0.05, "next_month": 0.1, "music": 0.1}.items():
        frame[column] = frame[column].astype(object).mask(random.random(ROWS) < share)
    return frame


# What nobody prepared: other order, unknown and missing values, a word for a number, a column too many.
TO_SCORE = """region,customer,since,age,note
north,N1,2023-05-01,33,hello
atlantis,N2,not yet,?,
,N3,,old,
"""


class Trained(NamedTuple):
    """A project after the first run."""

    project: KedroProject
    output: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Trained:
    project = KedroProject.copied_to(tmp_path_factory.mktemp("mixed") / "project", database)
    (project.data / "01_raw").mkdir(parents=True)
    _customers().to_csv(project.data / "01_raw" / "customers.csv", index=False)
    project.configure("sources.yml", BLOCK)
    project.configure("parameters.yml", PARAMETERS)
    return Trained(project, project.kedro(*RUN))


def test_the_run_says_what_it_found(trained: Trained) -> None:
    said = trained.output
    for task, kind in {"churn": "binary", "spend": "number", "plan": "classes", "topics": "labels"}.items():
        assert re.search(rf"task '{task}': .*kind {kind}", said), task
    assert re.search(r"features: 1 number, 1 category, 1 date", said)
    assert re.search(r"customer.*identifier", said)
    gaps = _customers()["next_month"].isna().sum()
    assert f"{gaps} samples without it take no part" in said


def test_every_task_has_its_limit_and_the_measures_of_its_kind(trained: Trained) -> None:
    reporting = trained.project.data / "08_reporting" / "customers"
    certificate = json.loads((reporting / "certificate.json").read_text())
    assert list(certificate["tasks"]) == ["spend", "plan", "topics"]
    comparison = pd.read_csv(reporting / "comparison.csv")
    own = comparison[(comparison.model == "constrained") & (comparison.part == "test")].set_index("task")
    assert own["kind"].to_dict() == {"churn": "binary", "spend": "number", "plan": "classes", "topics": "labels"}
    assert own["mae"].notna().to_dict() == {"churn": False, "spend": True, "plan": False, "topics": False}
    # In the unit of the table, and better than the mean, which is about 80 away.
    assert own["mae"].to_dict()["spend"] < 60
    assert own["roc_auc"].to_dict()["churn"] > 0.7


def test_a_raw_file_with_unseen_values_is_answered_row_by_row(trained: Trained) -> None:
    project = trained.project
    (project.path / "new.csv").write_text(TO_SCORE)
    output = project.kedro("run", "--pipeline", "predict", params="dataset=customers,input=new.csv,output=scores.csv")
    assert "scored 3 rows; in 2 of them values were missing or not known" in output
    scores = pd.read_csv(project.path / "scores.csv", keep_default_na=False)
    assert scores["customer"].tolist() == ["N1", "N2", "N3"]
    assert set(scores["churn"]) <= {"yes", "no"}
    assert scores["churn:yes"].between(0, 1).all()
    assert scores["spend"].between(0, 600).all()
    assert set(scores["plan"]) <= {"basic", "family", "single"}
    classes = scores[["plan:basic", "plan:family", "plan:single"]]
    assert classes.sum(axis=1).tolist() == pytest.approx([1, 1, 1], abs=1e-5)
    for label in ("sports", "music"):
        assert scores[f"topics:{label}"].between(0, 1).all()
    first, second, third = scores["replaced"]
    assert first == ""
    assert "region 'atlantis' unknown" in second
    assert "since 'not yet' not usable" in second
    assert "age missing" in second
    assert "age 'old' not usable" in third


def test_retraining_promotes_once_and_then_has_nothing_to_do(trained: Trained) -> None:
    project = trained.project
    retrain = ("run", "--pipeline", "retrain")
    project.kedro(*retrain, params="dataset=customers")
    outcome = project.data / "08_reporting" / "customers" / "retraining.json"
    first = json.loads(outcome.read_text())
    assert (first["outcome"], first["version"], first["champion"]) == ("promoted", 1, 1)
    project.kedro(*retrain, params="dataset=customers")
    second = json.loads(outcome.read_text())
    assert (second["outcome"], second["version"]) == ("unchanged", 1)
