"""The weight decay, set by hand or chosen on validation data."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import (
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    SplitParameters,
    TrainingParameters,
    WeightDecaySearchParameters,
)
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.row_split import split_rows
from idbpd.experiment.splitting.table_split import split
from idbpd.experiment.splitting.validation import Parts, parts_to_choose_on
from idbpd.mtl import guess_loss
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.pipelines.weight_decay.search import Search, UnsettledExperiment, nearest
from idbpd.validation import validated

SPLIT = SplitParameters(test_fraction=0.25, seed=0)
FEATURES = FeatureParameters(scaling="none")
TRAINING = TrainingParameters(start="calibrated", max_steps=60, tolerance=1e-3)
MODEL = ModelParameters(hidden=8)
COMPUTE = ComputeParameters(device="cpu", dtype="float64")
FINGERPRINT = {"data_sha256": "d", "split_sha256": "s"}


def _search(grid: list[float], max_steps: int = 60) -> WeightDecaySearchParameters:
    return WeightDecaySearchParameters(grid=grid, validation_fraction=0.25, max_steps=max_steps)


def _problem(weight_decay: float | str) -> ProblemSettings:
    return ProblemSettings.model_validate({"lambda": 0.5, "weight_decay": weight_decay})


def _settle(
    weight_decay: float | str,
    grid: list[float],
    cache: ContentStore | None = None,
    table: TaskTable | None = None,
    max_steps: int = 60,
) -> tuple[ProblemParameters, dict[str, Any]]:
    table = _table() if table is None else table
    unsettled = UnsettledExperiment(MODEL, _problem(weight_decay), COMPUTE, seed=0, fingerprint=FINGERPRINT)
    rows = split(table, Division(SPLIT, FEATURES)).rows
    division = Division(SPLIT, FEATURES)
    problem, choice, _ = settle_weight_decay(
        table, rows, _search(grid, max_steps), division, TRAINING, unsettled, cache
    )
    return problem, choice


def _validation_parts(table: TaskTable) -> Parts:
    train_rows, _ = split_rows(table, SPLIT.test_fraction, SPLIT.seed)
    return parts_to_choose_on(table, train_rows, _search([0.0]), Division(SPLIT, FEATURES), None)


def _table() -> TaskTable:
    """Four labels, two per task, that follow from two of six features; one sample of twenty has a wrong one."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(400, 6)).astype(np.float32)
    signs = (features[:, :2] > 0) ^ (generator.random((400, 2)) < 0.05)
    labels = np.stack([signs[:, 0], ~signs[:, 0], signs[:, 1], ~signs[:, 1]], axis=1).astype(np.int8)
    return TaskTable(features, tuple(f"x{at}" for at in range(6)), labels, tuple("abcd"), groups=np.arange(400) // 8)


def test_a_given_number_is_taken_as_it_is() -> None:
    problem, choice = _settle(3e-3, [1.0])
    assert (problem.weight_decay, problem.regularisation) == (3e-3, 0.5)
    asked = {"lambda": 0.5, "loss": "auto", "worst_case": "auto", "beyond_limits": 0.0, "weight_decay": 3e-3}
    assert choice == {"asked": asked, "weight_decay": 3e-3, "curve": []}


def test_auto_tries_the_neighbours_of_the_choice_and_keeps_them_for_the_next_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    grid = [0.0, 3e-4, 1e-2, 30.0]
    cache = ContentStore(tmp_path, "result of a weight decay")
    problem, choice = _settle("auto", grid, cache=cache)
    assert "kept from" not in caplog.text
    results = sorted(tmp_path.iterdir())
    results[0].write_text("{")
    again, same = _settle("auto", grid, cache=cache)
    assert (again, same) == (problem, choice)
    assert "computing the result of a weight decay again" in caplog.text
    assert f"({len(results) - 1} of them kept from an earlier run: same data, model and seed)" in caplog.text
    assert problem.weight_decay == choice["weight_decay"] == 1e-2
    assert problem.alone == choice["alone"]
    assert set(problem.alone) == {"constraint"}
    noise_learnt, chosen, nothing_learnt = choice["curve"]
    assert [point["weight_decay"] for point in choice["curve"]] == grid[1:]
    for task in ("priority", "constraint"):
        assert chosen["ratios"][task] < noise_learnt["ratios"][task]
        assert chosen["ratios"][task] < nothing_learnt["ratios"][task] == pytest.approx(1, abs=1e-2)
    assert choice["split_sha256"] == "s"


def test_a_number_that_looks_good_because_its_model_was_stopped_early_is_not_chosen() -> None:
    # After four steps the noise is not learnt yet. At the end, no decay is five times worse than a guess.
    _, choice = _settle("auto", [0.0, 3e-4, 1e-2, 30.0], max_steps=4)
    chosen = {
        "all": [point for point in choice["curve"] if point["weight_decay"] == choice["weight_decay"]],
        **{
            task: [point for point in curve if point["weight_decay"] == choice["alone"][task]]
            for task, curve in choice["curves_alone"].items()
        },
    }
    for (point,) in chosen.values():
        assert point["is_done"]
        assert max(point["ratios"].values()) <= 1.001
    assert not all(point["is_done"] for point in choice["curve"])


def test_a_task_alone_begins_with_a_decay_as_strong_as_that_of_all_together() -> None:
    """Where the first task is a rare event, the loss of another one has a twentieth of the weight."""
    random = np.random.default_rng(0)
    features = random.normal(size=(600, 3)).astype(np.float32)
    event = (features[:, 0] > 2.3).astype(np.float32)
    number = features[:, 1] + 0.3 * random.normal(size=600)
    targets = (
        Target("event", "binary", ("yes",), event[:, None], "no"),
        Target("number", "number", ("number",), number[:, None].astype(np.float32)),
    )
    table = TaskTable(features, ("x0", "x1", "x2"), np.zeros((600, 0), dtype=np.int8), (), targets=targets)
    _, choice = _settle("auto", [1e-4, 1e-3, 1e-2, 1e-1, 1.0], table=table)
    tried = [point["weight_decay"] for point in choice["curves_alone"]["number"]]
    assert min(tried) > choice["weight_decay"] == 1e-4


@pytest.mark.parametrize(("beyond_limits", "share"), [(0.0, 0.3), (0.3, 0.3), (0.8, 0.8)])
def test_tasks_count_in_the_search_as_they_do_in_training(beyond_limits: float, share: float) -> None:
    problem = _problem("auto").model_copy(update={"beyond_limits": beyond_limits})
    parts = _validation_parts(_table())
    search = Search(_search([1.0]), parts, UnsettledExperiment(MODEL, problem, COMPUTE, 0, FINGERPRINT), 1e-3, None)
    first, second = (guess_loss(task, criteria_of(problem)) for task in parts.fit.tasks)
    assert search.weights_of_tasks(["priority", "constraint"]) == {
        "priority": 1.0,
        "constraint": share * first / second,
    }
    assert search.weights_of_tasks(["constraint"]) == {"constraint": 1.0}


@pytest.mark.parametrize(("number", "found"), [(0.06, 0.1), (0.02, 0.01), (7.0, 1.0), (0.0, 0.0), (1e-9, 0.01)])
def test_the_nearest_number_of_a_grid_is_found_by_factors(number: float, found: float) -> None:
    assert nearest([0.0, 0.01, 0.1, 1.0], number) == found


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_warning_says_when_a_guess_would_be_better_on_unseen_data(
    weight_decay: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Without weight decay the noise in the labels is learnt; with some of it, what carries over."""
    _settle("auto", [weight_decay])
    said = "is not clearly below that of a constant guess" in caplog.text
    assert said == (weight_decay == 0)


def test_a_task_alone_is_trained_with_a_weight_decay_of_its_own() -> None:
    problem = _problem("auto").with_weight_decay(0.1, {"constraint": 0.3})
    assert problem.of_task_alone("constraint").weight_decay == 0.3
    assert problem.of_task_alone("priority").weight_decay == 0.1


def test_validation_uses_only_the_training_part_and_keeps_groups_together() -> None:
    table = _table()
    train_rows, test_rows = split_rows(table, SPLIT.test_fraction, SPLIT.seed)
    fit, validation = _validation_parts(table)
    train = split(table, Division(SPLIT, FEATURES)).train
    number = {features.tobytes(): row for row, features in enumerate(table.dense_features(slice(None)))}

    def rows(data: object) -> set[int]:
        return {number[features.numpy().tobytes()] for features in data.features}  # type: ignore[attr-defined]

    assert rows(fit) | rows(validation) == rows(train) == set(train_rows)
    assert not rows(fit) & rows(validation)
    assert not (rows(fit) | rows(validation)) & set(test_rows)
    assert table.groups is not None
    assert not set(table.groups[list(rows(fit))]) & set(table.groups[list(rows(validation))])


def test_an_impossible_validation_part_is_named_with_its_parameter() -> None:
    table = _table()
    two_groups = replace(table, groups=np.arange(400) // 200)
    message = r"all 200 rows are of one group, .* so there is no validation part; .*; a number for problem.weight_decay"
    with pytest.raises(DataError, match=message):
        _settle("auto", [0.0], table=two_groups)
    rare = replace(table, groups=None, labels=table.labels * np.array([1, 1, 0, 0], dtype=np.int8))
    rare.labels[split_rows(rare, SPLIT.test_fraction, SPLIT.seed)[0][0], 2:] = 1
    with pytest.raises(
        DataError, match=r"no sample of the (training|validation) part .* another weight_decay_search.valid"
    ):
        _validation_parts(rare)


@pytest.mark.parametrize("value", [-1, "often", True, float("nan")])
def test_a_weight_decay_that_is_neither_a_number_nor_auto_is_refused(value: object) -> None:
    given = {"lambda": 0.1, "weight_decay": value}
    with pytest.raises(ConfigurationError, match=r"'problem.weight_decay' = .* is not valid: choose a number that is"):
        validated("problem", ProblemSettings, given)
