"""From calibrated tasks to fronts: every point keeps its limits, and is better for the priority task than the last."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from idbpd.datasets.table import Target, TaskTable
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.certificate import evaluate_exactly
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import (
    CheckpointParameters,
    FeatureParameters,
    ModelParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.solving.checkpoints import CheckpointFolder, Checkpointing
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import TableSplit, split
from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.pipelines.frontier.advice import advise
from idbpd.pipelines.frontier.figure import draw_frontier
from idbpd.pipelines.frontier.fronts import Front
from idbpd.pipelines.frontier.nodes import measure_fronts, train_fronts
from idbpd.pipelines.frontier.parameters import FrontierParameters
from idbpd.pipelines.frontier.summary import summarise
from tests.pipelines.small_tasks import CALIBRATION, COMPUTE, PROBLEM

pytestmark = pytest.mark.xdist_group("frontier nodes")  # one worker trains the fronts

SLACKS = [0.0, 0.1, 0.5]
FRONTIER = FrontierParameters.model_validate(
    {"slacks": SLACKS, "priorities": "all", "weights": [0.3, 0.8], "residual_limit": 0.05}
)
SPLIT = SplitParameters(test_fraction=0.4, seed=0)
DIVISION = Division(SPLIT, FeatureParameters())
TRAINING = TrainingParameters(start="calibrated", max_steps=150, tolerance=1e-3)


def _table() -> TaskTable:
    """Two yes-or-no questions that want different things of few hidden units, and a number."""
    draws = np.random.default_rng(0)
    features = draws.normal(size=(300, 4)).astype(np.float32)
    noisy = features @ draws.normal(size=(4, 3)) + 0.7 * draws.normal(size=(300, 3))
    yes_no = [
        Target(name, "binary", ("yes",), (noisy[:, at : at + 1] > 0).astype(np.float32), other="no")
        for at, name in enumerate(("first", "second"))
    ]
    number = Target("third", "number", ("amount",), noisy[:, 2:].astype(np.float32), options={"limit": 5.0})
    return TaskTable(features, tuple("uvwx"), np.zeros((300, 0), dtype=np.int8), (), targets=(*yes_no, number))


TABLE = _table()


def _fronts(priorities: list[str], parts: TableSplit, **more: Any) -> list[Front]:
    experiment = Experiment(ModelParameters(hidden=2), PROBLEM, COMPUTE, seed=0, fingerprint=parts.fingerprint)
    calibrated = calibrate(parts.train, CALIBRATION, experiment)
    data = (TABLE, parts.train, parts.test, *calibrated)
    return train_fronts(priorities, *data, FRONTIER, CALIBRATION, TRAINING, DIVISION, experiment, **more)


@pytest.fixture(scope="module")
def parts() -> TableSplit:
    return split(TABLE, DIVISION)


@pytest.fixture(scope="module")
def fronts(parts: TableSplit) -> list[Front]:
    torch.set_num_threads(1)
    return _fronts(["first", "second"], parts)


Measured = tuple[dict[str, TrackedPoint], pd.DataFrame]


@pytest.fixture(scope="module")
def measured(fronts: list[Front], parts: TableSplit) -> Measured:
    return measure_fronts(fronts, TABLE, parts.encoding, parts.scaling, SPLIT, FRONTIER)


def test_looser_limits_are_better_for_the_priority_task_and_all_are_kept(measured: Measured) -> None:
    points, _ = measured
    assert list(points) == [f"{priority}_slack_{slack:g}" for priority in ("first", "second") for slack in SLACKS]
    for priority, other in (("first", "second"), ("second", "first")):
        certificates = [points[f"{priority}_slack_{slack:g}"].results["certificate"] for slack in SLACKS]
        objectives = [certificate["objective"] for certificate in certificates]
        assert objectives == sorted(objectives, reverse=True)
        assert objectives[0] > objectives[-1] + 1e-3
        assert all(certificate["infeasibility"] < 1e-3 for certificate in certificates)
        limits = [certificate["tasks"][other]["threshold"] for certificate in certificates]
        value = limits[0]  # with slack 0
        assert limits == pytest.approx([value * (1 + slack) for slack in SLACKS])
        # A limit of 5 set by hand is looser than a guess, and so is a guess's at every point.
        (of_guess,) = {certificate["tasks"]["third"]["threshold"] for certificate in certificates}
        assert of_guess < 5


def test_each_point_starts_from_the_best_that_is_known_and_keeps_the_limits(fronts: list[Front]) -> None:
    starts = []
    for front in fronts:
        ground = front.ground
        for before, after in itertools.pairwise(front.points):
            limits = thresholds_of(after.threshold)
            known = {
                name: evaluate_exactly(ground.train, limits, ground.experiment, weights).evaluation
                for name, weights in [("before", before.trained.weights), *front.fixed.items()]
            }
            keeping = {name: found.f.item() for name, found in known.items() if found.g.max() <= TRAINING.tolerance}
            assert "before" in keeping
            best = min(keeping, key=lambda name: keeping[name])
            assert after.trained.history["objective"].iloc[0] == pytest.approx(keeping[best], rel=1e-12)
            starts.append(best)
    assert "before" in starts


def test_no_model_with_fixed_weights_that_keeps_the_limits_is_better_in_training(fronts: list[Front]) -> None:
    for front in fronts:
        train, experiment = front.ground.train, front.ground.experiment
        for point in front.points[1:]:
            limits = thresholds_of(point.threshold)
            own = evaluate_exactly(train, limits, experiment, point.trained.weights).evaluation.f
            for weights in front.fixed.values():
                other = evaluate_exactly(train, limits, experiment, weights).evaluation
                assert other.g.max() > TRAINING.tolerance or own <= other.f + 1e-9


def test_another_priority_is_the_problem_of_a_run_with_that_priority(fronts: list[Front]) -> None:
    own, other = fronts
    assert [task.name for task in own.ground.train.tasks] == ["first", "second", "third"]
    assert [task.name for task in other.ground.train.tasks] == ["second", "first", "third"]
    same = split(TABLE, Division(SPLIT, FeatureParameters(), priority="second"))
    assert other.ground.experiment.fingerprint == same.fingerprint


def test_the_reserve_of_the_run_counts_in_the_front_of_another_priority_too(parts: TableSplit) -> None:
    experiment = Experiment(ModelParameters(hidden=2), PROBLEM, COMPUTE, seed=0, fingerprint=parts.fingerprint)
    reserves = {task.name: 0.5 for task in parts.train.limited}
    calibrated = calibrate(parts.train, CALIBRATION, experiment, reserve=reserves)
    data = (TABLE, parts.train, parts.test, *calibrated)
    short = TRAINING.model_copy(update={"max_steps": 1})
    (front,) = train_fronts(["second"], *data, FRONTIER, CALIBRATION, short, DIVISION, experiment)
    record = front.points[SLACKS.index(0.1)].threshold["tasks"]["first"]
    assert record["threshold"] == pytest.approx(record["value"] * (1 + 0.1 * 0.5))


def test_every_model_has_a_row_per_task_with_errors(measured: Measured) -> None:
    _, frame = measured
    models = frame[["priority", "model", "slack", "weight"]].drop_duplicates()
    assert len(models) == 2 * (len(SLACKS) + 2 + 1 + 1)  # fixed weights, equal ones, and each task alone
    assert len(frame) == 3 * len(models)
    assert (frame[["worst_case_loss_se", "value_se"]] > 0).all(axis=None)
    alone = frame[frame["model"] == "each alone"]
    assert (alone["relative"] == 1).all()
    assert (alone["relative_se"] == 0).all()
    equal = frame[frame["model"] == "equal weights"]
    assert (equal["against_equal"] == 0).all()
    losses = frame.merge(equal, on=["priority", "task"], suffixes=("", "_of_equal"))
    difference = losses["worst_case_loss"] - losses["worst_case_loss_of_equal"]
    assert np.allclose(difference, losses["against_equal"])
    limited = frame[(frame["model"] == "constrained") & (frame["task"] != frame["priority"])]
    assert limited["verdict_of_task"].isin(["HOLDS", "NOT SHOWN", "BROKEN"]).all()
    assert set(limited.loc[limited["task"] == "third", "limit_set_by"]) == {"hand"}


def test_what_is_tracked_agrees_with_the_table(measured: Measured) -> None:
    points, frame = measured
    for name, point in points.items():
        row = frame[(frame["folder"] == name) & (frame["task"] == frame["priority"])].iloc[0]
        assert point.tags == {"priority": row["priority"], "slack": f"{row['slack']:g}"}
        quality, certificate = point.results["quality"], point.results["certificate"]
        assert quality[f"test_{row['priority']}_worst_case_loss"] == row["worst_case_loss"]
        residuals = [certificate[residual] for residual in ("stationarity", "infeasibility", "slackness")]
        assert row["residual"] == max(residuals)
        assert point.results["outcome"]["verdict"] == certificate["held_out"]["verdict"] == row["verdict"]
        assert point.results["model"].tasks[0].name == row["priority"]


def test_the_same_run_has_the_same_digits_also_from_its_checkpoints(
    fronts: list[Front], parts: TableSplit, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    checkpointing = Checkpointing(CheckpointParameters(), CheckpointFolder(tmp_path))
    caplog.set_level("INFO", logger="idbpd")
    for _ in range(2):
        (front,) = _fronts(["first"], parts, checkpointing=checkpointing)
        for again, before in zip(front.points, fronts[0].points, strict=True):
            for name, tensor in before.trained.weights.items():
                assert torch.equal(tensor, again.trained.weights[name])
    assert "frontier_first_slack_0.5 is done" in caplog.text


def test_table_figure_and_advice_show_every_front(measured: Measured) -> None:
    _, frame = measured
    table = summarise(frame)
    assert table["first"].tolist() == ["first"] * 7 + ["second"] * 7
    assert [name.removeprefix("* ") for name in table["model"][:4]] == [
        "slack 0",
        "slack 0.1",
        "slack 0.5",
        "each alone",
    ]
    assert table["first / alone"][:7].tolist() == [""] * 7
    figure = draw_frontier(frame)
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 2 * 4  # two fronts with two limited tasks each
    one = summarise(frame[frame["priority"] == "first"])
    assert list(one.columns)[:3] == ["model", "first: worst case", "first: accuracy"]
    paragraphs = advise(frame, "mine", None)
    assert paragraphs.count(" first: ") == 2


def _priority_rows(*points: tuple[float, float, str, bool, bool]) -> pd.DataFrame:
    shared = {"priority": "a", "own_priority": True, "task": "a", "measure": "accuracy", "value": 0.9, "value_se": 0.01}
    rows: list[dict[str, Any]] = [
        {**shared, "model": "constrained", "slack": slack, "worst_case_loss": loss, "worst_case_loss_se": 0.02}
        | {"against_equal": loss - 0.7, "against_equal_se": 0.1}
        | {"verdict": verdict, "certified": certified, "recommended": chosen, "folder": f"a_slack_{slack:g}"}
        for slack, loss, verdict, certified, chosen in points
    ]
    equal = {**shared, "model": "equal weights", "worst_case_loss": 0.7, "worst_case_loss_se": 0.02}
    limited = {**shared, "model": "constrained", "task": "b", "limit_set_by": "tasks.b.slack", "recommended": False}
    return pd.DataFrame([*rows, {**equal, "recommended": False}, limited])


def test_the_advice_says_which_why_and_how() -> None:
    frame = _priority_rows((0.1, 0.52, "HOLDS", True, True), (0.5, 0.5, "HOLDS", True, False))
    text = advise(frame, "mine", None)
    assert "a first: slack 0.1 is recommended; it is the tightest of the points whose limits hold" in text
    assert "best (slack 0.5: 0.5000)" in text
    assert "0.5200 ± 0.0200, accuracy 90.0%. It is 0.1800 ± 0.1000 below that of equal weights" in text
    assert "(accuracy 90.0%); this may be chance.\n" in text
    assert "kedro run --params dataset=mine,calibration.slack=0.1,tasks.b.slack=0.1\n" in text
    assert "kedro run --pipeline retrain --params dataset=mine,calibration.slack=0.1,tasks.b.slack=0.1\n" in text
    assert "kedro register --dataset mine --priority a --slack 0.1\n" in text
    assert "calibration.slack=0.1,tasks.b.slack=0.1,priority=a\n" in advise(frame, "mine", "a")
    best = advise(_priority_rows((0.5, 0.5, "HOLDS", True, True)), "mine", None)
    assert "of the points whose limits hold it has the smallest worst-case loss of a" in best


@pytest.mark.parametrize(
    ("point", "why"),
    [
        ((0.5, 0.5, "HOLDS", False, False), "No point has a certificate: training.max_steps may be too small"),
        ((0.5, 0.5, "NOT SHOWN", True, False), "slack 0.5 are kept on the test part, but it is too small to show"),
        (
            (0.5, 0.5, "BROKEN", True, False),
            "no certified point keeps its limits; more training rows may help",
        ),
    ],
)
def test_the_advice_says_why_there_is_none(point: tuple[float, float, str, bool, bool], why: str) -> None:
    text = advise(_priority_rows(point), "mine", None)
    assert "a first: no point is recommended." in text
    assert why in text
    assert ("a larger calibration.reserve" in text) == point[3]  # without a certificate, limits are not what is wrong
