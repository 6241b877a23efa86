"""From data with several constraint tasks to thresholds, a model and its certificate."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from idbpd.errors import ConfigurationError
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.problem import Experiment, build_problem, criteria_of, weights_of
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.evaluation.compared import Assessment, Rivals
from idbpd.pipelines.evaluation.figures import draw_kkt_curves
from idbpd.pipelines.evaluation.nodes import compare, draw_loss_distribution, draw_worst_case_weights
from idbpd.pipelines.training.comparison_nodes import train_equal_weights, train_unconstrained
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import (
    CALIBRATION,
    COMPUTE,
    EXPERIMENT,
    FINGERPRINT,
    MODEL,
    PROBLEM,
    TRAINING,
    small_tasks,
)

SPLIT = SplitParameters(test_fraction=0.2, seed=0)


class Finished(NamedTuple):
    threshold: dict[str, Any]
    certificate: dict[str, Any]
    history: pd.DataFrame
    clock: pd.DataFrame
    quality: dict[str, float]
    summary: pd.DataFrame
    comparison: pd.DataFrame
    labels: pd.DataFrame
    verdicts: pd.DataFrame


def _run(data: MultiTaskData, split: SplitParameters = SPLIT) -> Finished:
    threshold, start, alone = calibrate(data, CALIBRATION.model_copy(update={"max_steps": 400}), EXPERIMENT)
    shared = (start, TRAINING.model_copy(update={"max_steps": 300}), EXPERIMENT)
    weights, history, clock, outcome = train_constrained(data, threshold, *shared)
    unconstrained = train_unconstrained(data, *shared)
    equal = train_equal_weights(data, *shared)
    certificate = certify(data, data, weights, outcome, threshold, alone, split, EXPERIMENT)
    rivals = Rivals(unconstrained, equal, alone, equal)  # the best fixed weights could be these
    tables = compare(weights, rivals, certificate, Assessment(data, data, MODEL, PROBLEM, split))
    assert {name: outcome[name] for name in FINGERPRINT} == FINGERPRINT
    return Finished(threshold, certificate, history, clock, *tables)


def test_every_constraint_task_has_its_own_threshold_and_keeps_it() -> None:
    data = small_tasks(3)
    threshold, certificate, history, clock, quality, summary, comparison, *_ = _run(data)
    assert list(threshold["tasks"]) == ["second", "third"]
    assert threshold["threshold"] == [record["threshold"] for record in threshold["tasks"].values()]
    for name, record in threshold["tasks"].items():
        assert record["threshold"] == pytest.approx(1.1 * record["value"])
        held = certificate["tasks"][name]
        assert held["threshold"] == record["threshold"]
        assert held["constraint"] <= 1e-3
        assert history[f"constraint_{name}"].iloc[-1] == pytest.approx(held["constraint"], abs=1e-2)
        assert quality[f"final_constraint_{name}"] == held["constraint"]
        assert quality[f"final_multiplier_{name}"] == held["multiplier"]
        assert f"{record['threshold']:.4f} kept" in set(summary["limit"])
    assert certificate["constraint"] == max(record["constraint"] for record in certificate["tasks"].values())
    for column in ("constraint", "multiplier"):
        largest = history[[f"{column}_second", f"{column}_third"]].max(axis=1)
        pd.testing.assert_series_equal(history[column], largest, check_names=False)
    over_steps, over_seconds = draw_kkt_curves(history, clock, certificate, comparison).axes[2:]
    assert len(over_steps.get_lines()) == len(over_seconds.get_lines()) == 5  # f, and two losses with two thresholds


def test_thresholds_are_what_each_task_reaches_alone() -> None:
    data = small_tasks(3)
    threshold, *_ = calibrate(data, CALIBRATION, EXPERIMENT)
    alone = build_problem(data, "third", {}, MODEL, PROBLEM, COMPUTE, 0)
    solution = solve(alone.oracle, alone.initial_weights, IDBPD(), max_steps=40, tolerance=1e-4)
    alone.network.load_state_dict(weights_of(solution))
    quality = measure_quality(alone.network, alone.data, criteria_of(PROBLEM))["third"]
    assert threshold["tasks"]["third"]["value"] == quality.worst_case_loss
    assert threshold["tasks"]["third"]["steps"] == solution.steps


def test_the_start_keeps_the_limits_of_all_tasks_but_the_last() -> None:
    data = small_tasks(3)
    threshold, start, _ = calibrate(data, CALIBRATION, EXPERIMENT)
    built = build_problem(data, "first", {}, MODEL, PROBLEM, COMPUTE, 0)
    built.network.load_state_dict(start)
    quality = measure_quality(built.network, built.data, criteria_of(PROBLEM))
    assert quality["second"].worst_case_loss <= threshold["tasks"]["second"]["threshold"] + 1e-3


def test_one_constraint_task_is_tracked_as_a_number_without_columns_of_its_own() -> None:
    threshold, certificate, history, _, quality, *_ = _run(small_tasks(2))
    assert threshold["threshold"] == threshold["tasks"]["second"]["threshold"] == certificate["threshold"]
    assert "constraint_second" not in history
    losses = ("mean_loss", "worst_case_loss", "maximum_loss", "cvar_loss")
    of_the_kind = ("hit_rate", "ranking_precision", "roc_auc", "average_precision", "log_loss", "brier")
    expected = {
        f"{part}_{task}_{name}"
        for part in ("train", "test")
        for task in ("first", "second")
        for name in losses + of_the_kind
    }
    assert set(quality) == expected | {"test_constraint_holds", "test_second_upper_bound"}


def test_models_and_a_guess_are_compared_on_both_parts_task_by_task_and_label_by_label() -> None:
    threshold, *_, quality, summary, comparison, labels, verdicts = _run(small_tasks(2))
    models = ["constrained", "no limits", "equal weights", "each alone", "best weights", "constant guess"]
    assert list(summary.columns) == ["task: what", "constrained", "limit", *models[1:]]
    rows = comparison.set_index(["model", "part", "task"])
    assert len(rows) == 6 * 2 * 2
    for part in ("train", "test"):
        for task in ("first", "second"):
            for name in ("cvar_loss", "roc_auc"):
                assert quality[f"{part}_{task}_{name}"] == rows.loc[("constrained", part, task), name]
    # What each model minimises, it has the least of; forty steps do not end exactly there.
    means = rows["mean_loss"].xs("train", level="part").groupby("model").sum()
    assert means["equal weights"] <= means.min() + 1e-2
    worst = rows["worst_case_loss"].xs(("train", "first"), level=("part", "task"))
    assert worst["no limits"] == worst["each alone"] <= worst.min() + 1e-2
    of_second = rows["worst_case_loss"].xs(("train", "second"), level=("part", "task"))
    assert of_second["each alone"] == pytest.approx(threshold["tasks"]["second"]["value"], rel=1e-6)
    assert of_second["constrained"] < of_second["no limits"] < of_second["constant guess"]
    assert worst["constant guess"] == worst.max()
    assert len(labels) == 6 * 2 * 2 * 2
    assert set(labels["label"]) == {"first0", "first1", "second0", "second1"}
    assert verdicts["verdict"].str.startswith("no limits breaks the limit of the second task").sum() == 1


def test_without_held_out_data_nothing_is_called_test() -> None:
    *_, quality, summary, comparison, _, verdicts = _run(
        small_tasks(2), SPLIT.model_copy(update={"test_fraction": 0.0})
    )
    assert not [name for name in quality if "test" in name]
    assert not summary["task: what"].str.contains("test|unseen").any()
    assert set(comparison["part"]) == {"train"}
    assert not verdicts["verdict"].str.contains("test|unseen").any()


def test_the_clock_goes_on_with_every_step_of_the_history() -> None:
    finished = _run(small_tasks(2))
    assert list(finished.clock["step"]) == list(finished.history["step"])
    assert finished.clock["seconds"].is_monotonic_increasing
    assert "seconds" not in finished.history


def test_figures_show_every_task_with_its_threshold() -> None:
    data = small_tasks(3)
    threshold, start, _ = calibrate(data, CALIBRATION, EXPERIMENT)
    certificate = {"tasks": threshold["tasks"]}
    losses = draw_loss_distribution(start, certificate, Assessment(data, data, MODEL, PROBLEM, SPLIT))
    dashed = [[line for line in axes.get_lines() if line.get_linestyle() == "--"] for axes in losses.axes]
    assert [len(lines) for lines in dashed] == [0, 1, 1]
    limits = [float(np.ravel(lines[0].get_xdata())[0]) for lines in dashed[1:]]
    assert limits == [record["threshold"] for record in threshold["tasks"].values()]
    weights = draw_worst_case_weights(data, start, MODEL, PROBLEM)
    for axes, task in zip(weights.axes, data.tasks, strict=True):
        curve = np.ravel(axes.get_lines()[0].get_ydata())
        assert curve.mean() == pytest.approx(1)
        assert (np.diff(curve) <= 0).all()
        assert axes.get_title() == f"{task.name} task"


def test_the_certificate_says_what_holds_on_unseen_data() -> None:
    data, unseen = small_tasks(3), small_tasks(3)
    threshold, start, alone = calibrate(data, CALIBRATION, EXPERIMENT)
    weights, _, _, outcome = train_constrained(data, threshold, start, TRAINING, EXPERIMENT)

    def certificate(test: MultiTaskData, split: SplitParameters = SPLIT) -> dict[str, Any]:
        return certify(data, test, weights, outcome, threshold, alone, split, EXPERIMENT)

    seen = certificate(data)["held_out"]
    assert (seen["part"], seen["confidence"]) == ("test", 0.95)
    for name, record in threshold["tasks"].items():
        held = seen["tasks"][name]
        assert held["threshold"] == record["threshold"]
        constraint = certificate(data)["tasks"][name]["constraint"]
        assert held["worst_case_loss"] - held["threshold"] == pytest.approx(constraint, abs=1e-12)
        assert held["reference"] == pytest.approx(1.1 * held["alone"])
        assert held["alone"] == pytest.approx(record["value"], rel=1e-6)  # these are the data it was made on
        assert held["verdict"] in ("HOLDS", "NOT SHOWN", "BROKEN")
        assert held["holds"] == (held["verdict"] == "HOLDS")
        assert held["upper_bound"] is None or held["upper_bound"] >= held["worst_case_loss"]
    # Other classes for the same features: nothing that was learnt is of use.
    failed = certificate(unseen)["held_out"]
    assert failed["holds"] is False
    assert failed["verdict"] != "HOLDS"
    assert set(failed["guesses"]) == {"first", "second", "third"}
    assert certificate(data, SPLIT.model_copy(update={"test_fraction": 0.0}))["held_out"] is None


def test_the_certificate_needs_nothing_but_the_weights() -> None:
    data = small_tasks(2)
    threshold, start, alone = calibrate(data, CALIBRATION, EXPERIMENT)
    weights, _, _, outcome = train_constrained(data, threshold, start, TRAINING, EXPERIMENT)
    known = {name: outcome[name] for name in ("status", "reason", "made_with")}
    certificate = certify(data, data, weights, known, threshold, alone, SPLIT, EXPERIMENT)
    assert certificate["multiplier"] == pytest.approx(outcome["multipliers"][0], rel=1e-2)
    assert certificate["stationarity"] < 0.05  # as far as forty steps go
    for task in data.tasks:
        support = certificate["support"][task.name]
        assert 0 < support["weighted"] <= support["samples"] == task.size


def test_a_stored_result_of_another_problem_is_refused() -> None:
    data = small_tasks(2)
    threshold, start, _ = calibrate(data, CALIBRATION, EXPERIMENT)

    def train(experiment: Experiment) -> None:
        train_constrained(data, threshold, start, TRAINING, experiment)

    with pytest.raises(ConfigurationError, match=r"threshold was made with problem.lambda = .*, this run has 0.7"):
        train(replace(EXPERIMENT, problem=PROBLEM.model_copy(update={"regularisation": 0.7})))
    with pytest.raises(ConfigurationError, match=r"made with seed = 0, this run has 1; .* --from-nodes calibrate"):
        train(replace(EXPERIMENT, seed=1))
    with pytest.raises(ConfigurationError, match=r"made with data and split \(SHA-256\) = 's', this run has 't'"):
        train(replace(EXPERIMENT, fingerprint={**FINGERPRINT, "split_sha256": "t"}))
