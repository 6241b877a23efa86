"""``kedro run --pipeline frontier`` on a small table: what it prints, leaves behind and tracks."""

import json
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from mlflow.entities import Run
from PIL import Image

from tests.kedro_project import KedroProject, read_until

pytestmark = [pytest.mark.xdist_group("frontier"), pytest.mark.slow]

FRONTIER = ("run", "--pipeline", "frontier")
PARAMS = (
    "dataset=shop,split.test_fraction=0.5,calibration.max_steps=400,training.max_steps=400,problem.weight_decay=0.01,model.hidden=3,"
    "calibration.reserve=0,frontier.slacks=0.05+0.5,frontier.weights=0.8,frontier.priorities=all"
)
SOURCE = {
    "shop": {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": "data/01_raw/shop.csv",
        "tasks": {"churn": "churned", "spend": "next_month"},
    }
}
SIX = ("objective", "constraint", "stationarity", "infeasibility", "slackness", "multiplier")


def _shop(project: KedroProject) -> KedroProject:
    draws = np.random.default_rng(0)
    columns = draws.normal(size=(600, 3))
    table = pd.DataFrame(columns.round(3), columns=["visits", "basket", "age"])
    table["churned"] = np.where(columns @ [1, -1, 0.2] + 0.5 * draws.normal(size=600) > 0, "yes", "no")
    table["next_month"] = (20 + columns @ [3, 2, -1] + 4 * draws.normal(size=600)).round(2)
    (project.data / "01_raw").mkdir(parents=True, exist_ok=True)
    table.to_csv(project.data / "01_raw/shop.csv", index=False)
    project.configure("sources.yml", SOURCE)
    return project


class Finished(NamedTuple):
    project: KedroProject
    output: str

    @property
    def reports(self) -> Path:
        return self.project.data / "08_reporting/shop"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Finished:
    project = _shop(KedroProject.copied_to(tmp_path_factory.mktemp("frontier") / "project", database))
    return Finished(project, project.kedro_process(*FRONTIER, params=PARAMS))


def _points(runs: list[Run]) -> list[Run]:
    """The points of the first front, the tightest first."""
    return [run for run in runs if run.data.tags.get("priority") == "churn"]


def test_it_prints_the_points_what_to_take_and_where_to_look(finished: Finished) -> None:
    for text in (
        "shop: trade-offs on unseen data",
        "slack 0.05",
        "fixed weights 0.8",
        "equal weights 0.5",
        "each alone",
        "churn first: slack",
        "kedro run --params dataset=shop,calibration.slack=",
        "kedro run --pipeline retrain --params dataset=shop,calibration.slack=",
        "models and certificates: data/06_models/shop/frontier",
        "all numbers: data/08_reporting/shop/frontier.csv",
        "figure: data/08_reporting/shop/frontier.png",
    ):
        assert text in finished.output
    with Image.open(finished.reports / "frontier.png") as picture:
        assert picture.width > 500


def test_every_point_is_a_tracked_run_with_all_results(finished: Finished) -> None:
    client, runs = finished.project.tracked_runs()
    names = [(run.data.tags["priority"], run.data.tags["slack"]) for run in runs if "slack" in run.data.tags]
    assert names == [("churn", "0.05"), ("churn", "0.5"), ("spend", "0.05"), ("spend", "0.5")]
    points = {run.data.tags["slack"]: run for run in _points(runs)}
    frame = pd.read_csv(finished.reports / "frontier.csv")
    for slack, run in points.items():
        tags = {name: run.data.tags[name] for name in ("dataset", "method", "seed", "priority", "pipeline")}
        assert tags == {
            "dataset": "shop",
            "method": "idbpd",
            "seed": "0",
            "priority": "churn",
            "pipeline": "frontier",
        }
        assert run.info.status == "FINISHED"
        assert run.data.tags["verdict"] in ("HOLDS", "NOT SHOWN", "BROKEN")
        assert {f"final_{name}" for name in SIX} | set(SIX) < set(run.data.metrics)
        assert client.get_metric_history(
            run.info.run_id, "objective"
        )  # one entry where the point before it is the answer
        assert math.isfinite(float(run.data.params["threshold"]))
        first = frame[(frame["folder"] == f"churn_slack_{slack}") & (frame["task"] == "churn")].iloc[0]
        assert run.data.metrics["test_churn_worst_case_loss"] == pytest.approx(first["worst_case_loss"], rel=1e-12)
        assert run.data.metrics["test_churn_accuracy"] == pytest.approx(first["value"], rel=1e-12)
    limits = {slack: float(run.data.params["threshold"]) for slack, run in points.items()}
    saved = json.loads((finished.project.data / "06_models/shop/threshold.json").read_text(encoding="utf-8"))
    alone, guess, reserve = (saved["tasks"]["spend"][name] for name in ("value", "guess", "reserve"))
    for slack, limit in limits.items():
        room = min(alone * (1 + float(slack)), guess) - alone  # no limit is looser than a guess
        assert room > 0.01 * guess  # the least room
        assert limit == pytest.approx(alone + (1 - reserve) * room, rel=1e-12)


def test_the_model_of_a_point_can_be_registered_and_scores_rows(finished: Finished, tmp_path: Path) -> None:
    project = finished.project
    command = re.findall(r"^  register it: kedro (.*--priority churn .*)$", finished.output, flags=re.MULTILINE)[0]
    printed = project.kedro(*command.split())
    (version,) = re.findall(r"^version (\d+) of idbpd-shop is the model with priority churn and slack", printed)
    assert "limits: HOLDS; it has passed no gate, so it is not the champion" in printed
    listed = project.kedro("models", "--dataset", "shop")
    (row,) = [line for line in listed.splitlines() if line.startswith(f"│ {version} ")]
    assert "CONVERGED" in row
    assert "champion" not in row
    scored = tmp_path / "scores.csv"
    where = f"dataset=shop,input={project.data / '01_raw/shop.csv'},output={scored}"
    project.kedro("run", "--pipeline", "predict", params=f"{where},model_uri=models:/idbpd-shop/{version}")
    answers = pd.read_csv(scored)
    assert len(answers) == 600
    truths = pd.read_csv(project.data / "01_raw/shop.csv")["churned"]
    assert (answers["churn"] == truths).mean() > 0.8


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            ("--slack", "0.3"),
            "the latest frontier of 'shop' has no point with slack 0.3; it has churn 0.05, churn 0.5,",
        ),
        (("--slack", "0.5", "--priority", "plan"), "has no point with priority plan and slack 0.5"),
        (("--slack", "0.5"), "several points have the slack 0.5; choose one with --priority: churn, spend"),
        (("--slack", "0.5", "--dataset", "yeast"), "no frontier of 'yeast' has been finished; make one with kedro run"),
    ],
)
def test_only_points_that_exist_can_be_registered(finished: Finished, asked: tuple[str, ...], message: str) -> None:
    arguments = asked if "--dataset" in asked else (*asked, "--dataset", "shop")
    assert message in finished.project.kedro("register", *arguments, exit_code=1)


def test_a_killed_run_continues_and_ends_with_the_same_digits(
    tracked_project: KedroProject, finished: Finished
) -> None:
    project = _shop(tracked_project)
    with project.started(*FRONTIER, params=PARAMS) as process:
        read_until(process, "churn first, slack 0.05")
        process.kill()
    output = project.kedro_process(*FRONTIER, params=PARAMS)
    assert "frontier_churn_slack_0.05 is done" in output
    again = (project.data / "08_reporting/shop/frontier.csv").read_text()
    assert again == (finished.reports / "frontier.csv").read_text()


def test_a_plain_run_has_the_limits_of_the_point_that_it_names(finished: Finished) -> None:
    project = finished.project
    params = PARAMS.replace(
        "frontier.slacks=0.05+0.5,frontier.weights=0.8,frontier.priorities=all", "calibration.slack=0.5"
    )
    output = project.kedro("run", "--to-nodes", "calibrate", params=params)
    assert "kept from" in output  # the calibration of the frontier serves it too
    _, runs = project.tracked_runs()
    thresholds = {run.data.params["threshold"] for run in _points(runs) if run.data.tags["slack"] == "0.5"}
    assert runs[-1].data.params["threshold"] in thresholds


def test_a_point_is_not_repeated_by_itself(finished: Finished) -> None:
    _, runs = finished.project.tracked_runs()
    point = _points(runs)[0]
    arguments, params = ("run", "--pipeline", "reproduce"), f"run_id={point.info.run_id}"
    output = finished.project.kedro(*arguments, params=params, exit_code=1)
    assert "is a point of a frontier, which starts from the point before it" in output
    assert "run --pipeline frontier --params dataset=shop" in output


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("frontier.priorities=chrun", "names the task 'chrun', which does not exist; did you mean 'churn'?"),
        ("tasks.spend.limit=0.6", "there is no limit to relax: the limits of spend are set by hand"),
        ("split.test_fraction=0", "parameter 'split.test_fraction' = 0 is not valid for a frontier"),
        ("frontier.slacks=-0.1", "-0.1 is below 0"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_trained(finished: Finished, params: str, message: str) -> None:
    output = finished.project.kedro(*FRONTIER, params=f"dataset=shop,{params}", exit_code=1)
    (line,) = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert message in line
    assert "weight decay" not in output
    assert "alone reaches" not in output
    assert "Traceback" not in output
