"""Limits that cannot be kept, data that say nothing, numbers that run away: clear words, a status, the best weights."""

import logging

import pytest
import torch

from idbpd.errors import DataError
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.problem import build_problem, weights_of
from idbpd.experiment.solving.durable_solve import Budget, Timed, solve_durably
from idbpd.experiment.solving.endings import say_how_it_ended
from idbpd.mtl import MultiTaskData, Task
from idbpd.optim import IDBPD, Status
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import CALIBRATION, COMPUTE, EXPERIMENT, MODEL, PROBLEM, TRAINING, small_tasks

LONG = TRAINING.model_copy(update={"max_steps": 1000})


def _identical_samples() -> MultiTaskData:
    """Twenty times the same features, half of them with one label, half with the other: nobody can tell them apart."""
    targets = torch.eye(2).repeat(10, 1)
    tasks = tuple(Task(name, (f"{name}0", f"{name}1"), torch.arange(20), targets) for name in ("first", "second"))
    return MultiTaskData(torch.ones(20, 3), tasks)


def test_identical_samples_are_guessed_evenly(caplog: pytest.LogCaptureFixture) -> None:
    data = _identical_samples()
    threshold, start, _ = calibrate(data, CALIBRATION, EXPERIMENT)
    even = torch.tensor(2.0).log().item()
    assert threshold["tasks"]["second"]["value"] == pytest.approx(even, abs=1e-3)
    _, history, *_, outcome = train_constrained(data, threshold, start, LONG, EXPERIMENT)
    assert outcome["status"] == "CONVERGED"
    assert outcome["reached"]["second"] == pytest.approx(even, abs=1e-2)
    assert not history.isna().any(axis=None)
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert "the second task alone is no better than a constant guess, whose loss is 0.6931" in warning


@pytest.mark.parametrize("start", ["calibrated", "random"])
def test_an_unreachable_limit(start: str, caplog: pytest.LogCaptureFixture) -> None:
    data = _identical_samples()
    by_hand = CALIBRATION.model_copy(update={"threshold": 0.3})
    threshold, calibrated, _ = calibrate(data, by_hand, EXPERIMENT)
    assert "the limit 0.3000 of the second task is below 0.6931, what it reached on its own" in caplog.text
    training = LONG.model_copy(update={"start": start})
    *_, outcome = train_constrained(data, threshold, calibrated, training, EXPERIMENT)
    assert outcome["status"] == "INFEASIBLE"
    assert outcome["reached"]["second"] == pytest.approx(0.6931, abs=1e-3)
    (warning,) = [record.getMessage() for record in caplog.records if "infeasible stationary" in record.getMessage()]
    assert f"with the constraint: an infeasible stationary point ({outcome['reason']})" in warning
    assert "the worst-case loss of the second task came down to 0.6931, its limit is 0.3000" in warning


def test_numbers_that_run_away_keep_the_best_weights(caplog: pytest.LogCaptureFixture) -> None:
    wild = PROBLEM.model_copy(update={"weight_decay": 1.0})
    built = build_problem(small_tasks(2), "first", {}, MODEL, wild, COMPUTE, 0)
    too_long_steps = IDBPD.paper(gamma=1e60)
    timed = solve_durably("training", built, built.initial_weights, too_long_steps, Budget(100, 1e-6), None)
    assert timed.solution.status is Status.DIVERGED
    assert all(tensor.isfinite().all() for tensor in weights_of(timed.solution).values())
    say_how_it_ended("without the constraint", timed, 1e-6, {})
    assert (
        "without the constraint: a value or a gradient is not finite; the best finite weights are kept" in caplog.text
    )


def test_numbers_that_are_never_finite_are_an_error_of_the_data() -> None:
    data = small_tasks(2)
    enormous = MultiTaskData(data.table * 1e308, data.tasks)
    with pytest.raises(
        DataError, match=r"calibrating second: the losses are not finite at any .* see features.scaling"
    ):
        calibrate(enormous, CALIBRATION, EXPERIMENT)


def test_seconds_belong_to_the_rows_of_the_history() -> None:
    built = build_problem(small_tasks(2), "first", {}, MODEL, PROBLEM, COMPUTE, 0)
    timed: Timed = solve_durably("training", built, built.initial_weights, IDBPD(), Budget(5, 1e-9), None)
    assert len(timed.seconds) == len(timed.solution.history.step) == 6
    assert timed.total_seconds == timed.seconds[-1]
