"""The reserve of limits, chosen on a validation part of a small table."""

import logging
from typing import Any

import numpy as np
import pytest

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemSettings,
    SplitParameters,
    TasksParameters,
    TrainingParameters,
    WeightDecaySearchParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import TableSplit, split
from idbpd.pipelines.calibration.nodes import calibrate_with_reserve, settle_reserve
from idbpd.pipelines.calibration.reserve import Tried

SETTINGS = ProblemSettings.model_validate({"worst_case": {"share": 0.8}, "weight_decay": 1e-2})
SEARCH = WeightDecaySearchParameters(grid=[0.01], validation_fraction=0.3, max_steps=40)
TRAINING = TrainingParameters(start="calibrated", max_steps=60, tolerance=1e-3)
AUTO = CalibrationParameters(slack=0.3, max_steps=60, tolerance=1e-3, reserve="auto", reserve_steps=40)
COMPUTE = ComputeParameters(device="cpu", dtype="float32")


def _table() -> TaskTable:
    """Two questions that pull a narrow network in different directions: each follows from features of its own."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(600, 6)).astype(np.float32)
    noise = generator.normal(size=(600, 2))
    wanted = np.stack([features[:, 0] * features[:, 1], features[:, 2] + features[:, 3] * features[:, 4]], axis=1)
    answers = (wanted + noise / 4 > 0).astype(np.float32)
    targets = tuple(
        Target(name, "binary", ("yes",), answers[:, [at]], other="no") for at, name in enumerate(("churn", "spend"))
    )
    names = tuple(f"x{at}" for at in range(6))
    return TaskTable(features, names, np.zeros((600, 0), dtype=np.int8), (), targets=targets)


def _settled(
    calibration: CalibrationParameters, test_fraction: float = 0.25, **options: Any
) -> tuple[dict[str, Any], TableSplit, Experiment]:
    tasks = TasksParameters.model_validate({"spend": options} if options else {})
    division = Division(
        SplitParameters(test_fraction=test_fraction, seed=0), FeatureParameters(), tasks, problem_settings=SETTINGS
    )
    table = _table()
    parts = split(table, division)
    problem = SETTINGS.with_weight_decay(1e-2)
    experiment = Experiment(ModelParameters(hidden=3), problem, COMPUTE, seed=0, fingerprint=parts.fingerprint)
    found = settle_reserve(parts.train, table, parts.rows, calibration, SEARCH, TRAINING, {}, division, experiment)
    return found, parts, experiment


def test_a_reserve_set_by_hand_is_taken_as_it_is() -> None:
    by_hand = AUTO.model_copy(update={"reserve": 0.5})
    found, parts, experiment = _settled(by_hand)
    assert (found["asked"], found["tasks"], found["tried"]) == (0.5, {}, {})
    record, *_ = calibrate_with_reserve(parts.train, by_hand, found, experiment)
    of_task = record["tasks"]["spend"]
    assert of_task["reserve"] == 0.5
    assert of_task["threshold"] == pytest.approx(1.15 * of_task["value"])


def test_without_unseen_data_nothing_is_kept_in_reserve() -> None:
    found, *_ = _settled(AUTO, test_fraction=0.0)
    assert found["tasks"] == {}


def test_the_reserve_is_the_least_that_is_safe_on_the_validation_part() -> None:
    found, parts, experiment = _settled(AUTO)
    tried = found["tried"]["spend"]
    assert tried[0]["reserve"] == 0.0
    safe = [one["reserve"] for one in tried if Tried(**one).is_safe]
    assert safe
    assert found["tasks"]["spend"] == min(safe)
    record, *_ = calibrate_with_reserve(parts.train, AUTO, found, experiment)
    assert record["tasks"]["spend"]["reserve"] == found["tasks"]["spend"]
    assert record["tasks"]["spend"]["slack"] == 0.3


def test_a_limit_in_a_measure_becomes_a_limit_in_the_loss() -> None:
    found, parts, experiment = _settled(AUTO, limit={"accuracy": 0.6})
    judged = found["tried"]["spend"][-1]["judged"]
    assert judged["measured"]["name"] == "accuracy"
    assert judged["reference"] == pytest.approx(0.4)
    assert judged["measured"]["bound"] == pytest.approx(1 - judged["upper_bound"])
    record, *_ = calibrate_with_reserve(parts.train, AUTO, found, experiment)
    of_task = record["tasks"]["spend"]
    assert of_task["limit"] == {"accuracy": 0.6}
    assert of_task["slack"] is None
    assert of_task["value"] <= of_task["threshold"] < 0.7  # a guess has about ln 2


def test_what_can_be_reached_is_said_where_no_model_keeps_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _settled(AUTO, limit={"accuracy": 0.999})
    (message,) = [record.message for record in caplog.records if "perhaps no model" in record.message]
    assert "accuracy 99.9% is asked for, and on a validation part of 135 rows a model made for it alone" in message


@pytest.mark.parametrize(("accuracy", "is_said"), [(0.3, True), (0.6, False)])
def test_a_limit_in_a_measure_that_a_guess_keeps_is_told(
    accuracy: float, *, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    found, parts, experiment = _settled(AUTO, limit={"accuracy": accuracy})
    calibrate_with_reserve(parts.train, AUTO, found, experiment)
    said = "the limit of the spend task says little: accuracy 30.0% is asked for, and a constant guess has 5"
    assert (said in caplog.text) == is_said


def test_a_limit_in_a_measure_needs_unseen_data() -> None:
    with pytest.raises(ConfigurationError, match=r"tasks\.spend\.limit\.recall = 0\.6 is a limit on unseen data"):
        _settled(AUTO, test_fraction=0.0, limit={"recall": 0.6})


def test_a_reserve_set_by_hand_is_for_limits_in_the_loss() -> None:
    by_hand = AUTO.model_copy(update={"reserve": 0.0})
    found, parts, experiment = _settled(by_hand, limit={"accuracy": 0.7})
    record, *_ = calibrate_with_reserve(parts.train, by_hand, found, experiment)
    assert record["tasks"]["spend"]["reserve"] == found["tasks"]["spend"] > 0


def test_a_choice_for_other_limits_is_refused() -> None:
    found, parts, experiment = _settled(AUTO)
    tighter = AUTO.model_copy(update={"slack": 0.1})
    with pytest.raises(ConfigurationError, match=r"the stored reserve was made with .*--from-nodes settle_reserve"):
        calibrate_with_reserve(parts.train, tighter, found, experiment)


def test_the_same_search_gives_the_same_reserve() -> None:
    assert _settled(AUTO)[0]["tried"] == _settled(AUTO)[0]["tried"]
