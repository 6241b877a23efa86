"""The models that a run is compared with."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from idbpd.datasets.table import TaskTable
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.parameters import DEFAULT_CHECKPOINT, FeatureParameters, ModelParameters, SplitParameters
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, CheckpointFolder, Checkpointing
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.evaluation.compared import Assessment, Rivals, measure_rivals
from idbpd.pipelines.training.comparison_nodes import train_equal_weights, train_fixed_weights, train_unconstrained
from idbpd.pipelines.training.parameters import ComparisonParameters
from tests.pipelines.small_tasks import CALIBRATION, EXPERIMENT, PROBLEM, TRAINING, small_tasks

SPLIT = SplitParameters(test_fraction=0.25, seed=0)
DIVISION = Division(SPLIT, FeatureParameters(scaling="none"))
# So small that the tasks compete.
SMALL = replace(EXPERIMENT, model=ModelParameters(hidden=2), problem=PROBLEM.model_copy(update={"weight_decay": 0.05}))
SWEEP = ComparisonParameters(sweep=[0.1, 0.6, 0.9], margin=0.3, validation_fraction=0.25, max_steps=20)


class Shared(nn.Module):
    """A network without heads: every task reads the same outputs."""

    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__()
        self.layer, self.count = nn.Linear(features, 2), len(classes)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        return (self.layer(features),) * self.count


def _table() -> TaskTable:
    """Four labels, two per task, that follow from the same features in different ways."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(200, 4)).astype(np.float32)
    signs = features @ np.array([[1, 0.5], [0, 1], [1, -1], [0, 0]]) + 0.3 * generator.normal(size=(200, 2)) > 0
    labels = np.stack([signs[:, 0], ~signs[:, 0], signs[:, 1], ~signs[:, 1]], axis=1).astype(np.int8)
    return TaskTable(features, tuple("wxyz"), labels, tuple("abcd"))


def _losses(experiment: Experiment, data: MultiTaskData, weights: dict[str, Tensor], what: str) -> dict[str, float]:
    built = experiment.build(data, data.priority.name, {})
    quality = built.quality(weights, data, criteria_of(experiment.problem))
    return {task: getattr(found, what) for task, found in quality.items()}


def _flat(weights: dict[str, Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in weights.values()])


def test_heads_are_trained_and_the_priority_task_does_not_notice(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    data = small_tasks(3)
    _, start, _ = calibrate(data, CALIBRATION, EXPERIMENT)
    weights = train_unconstrained(data, start, TRAINING, EXPERIMENT)
    assert "no limits, the priority task alone: " in caplog.text
    assert "no limits, the heads of the other tasks: CONVERGED" in caplog.text
    # The mean loss of a head is the least that a head can have on this trunk: no random change makes it better.
    built = EXPERIMENT.build(data, "first", {})
    of_others = [name for name in weights if "heads.task.0" not in name and "trunk" not in name]

    def objective(state: dict[str, Tensor]) -> float:
        means = _losses(EXPERIMENT, data, state, "mean_loss")
        decay = PROBLEM.weight_decay / 2 * float(_flat({name: state[name] for name in of_others}).square().sum())
        return means["second"] + means["third"] + decay

    best = objective(weights)
    for _ in range(20):
        noise = {name: weights[name] + 0.1 * torch.randn_like(weights[name]) for name in of_others}
        assert objective({**weights, **noise}) > best
    guess = _losses(EXPERIMENT, data, {**weights, **{name: 0 * weights[name] for name in of_others}}, "mean_loss")
    trained = _losses(EXPERIMENT, data, weights, "mean_loss")
    assert trained["second"] < guess["second"]
    assert trained["first"] == guess["first"]  # with or without them
    assert list(weights) == list(built.initial_weights)


def test_a_network_that_shares_everything_is_not_compared_in_other_tasks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    data = small_tasks(3)
    model = ModelParameters(hidden=1, type=f"{__name__}.Shared")
    experiment = replace(EXPERIMENT, model=model)
    _, start, alone = calibrate(data, CALIBRATION, experiment)
    weights = train_unconstrained(data, start, TRAINING, experiment)
    for task in ("second", "third"):
        assert (
            f"no limits: the network has no parameters for the {task} task that the priority task does not use; the "
            "model without limits is not compared in it"
        ) in caplog.text
    assert "heads of the other tasks" not in caplog.text
    split = SplitParameters(test_fraction=0, seed=0)
    found = measure_rivals(Rivals(weights, weights, alone, {}), Assessment(data, data, model, PROBLEM, split))
    assert list(found) == ["no limits", "equal weights", "each alone"]
    assert list(found["no limits"]["train"]) == ["first"]
    assert list(found["each alone"]["train"]) == list(found["equal weights"]["train"]) == ["first", "second", "third"]


def _fixed(
    experiment: Experiment = SMALL,
    comparison: ComparisonParameters = SWEEP,
    table: TaskTable | None = None,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> tuple[MultiTaskData, dict[str, Tensor], dict[str, Any], dict[str, Tensor]]:
    """The training part, the weights of the best, the sweep, and the weights to start from."""
    parts = split(_table(), DIVISION)
    threshold, start, _ = calibrate(parts.train, CALIBRATION, experiment)
    weights, record = train_fixed_weights(
        table or _table(),
        parts.rows,
        parts.train,
        threshold,
        start,
        comparison,
        TRAINING,
        DIVISION,
        experiment,
        checkpointing,
    )
    return parts.train, weights, record, start


def test_the_best_fixed_weights_are_chosen_on_a_validation_part(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    train, weights, record, start = _fixed()
    points = record["points"]
    assert [point["weights"]["priority"] for point in points] == pytest.approx([0.2, 1.2, 1.8])
    of_priority = [point["worst_case_losses"]["priority"] for point in points]
    of_limited = [point["worst_case_losses"]["constraint"] for point in points]
    assert of_priority == sorted(of_priority, reverse=True)  # more weight, less loss
    assert of_limited == sorted(of_limited)
    # The first two keep the limit, and of these the second is better for the priority task.
    assert [point["excess"]["constraint"] <= SWEEP.margin for point in points] == [True, True, False]
    assert record["chosen"] == points[1]["weights"] == pytest.approx({"priority": 1.2, "constraint": 0.8})
    assert (
        "best weights (priority 1.2, constraint 0.8; on a validation part the best of 3 for the priority task that "
        "keeps all limits to within 30%; the sweep took "
    ) in caplog.text

    def objective(state: dict[str, Tensor]) -> float:
        means = _losses(SMALL, train, state, "mean_loss")
        return 1.2 * means["priority"] + 0.8 * means["constraint"] + 0.025 * float(_flat(state).square().sum())

    # Then it is trained on the whole training part, on which no other model has less of the same sum.
    assert objective(weights) < objective(train_equal_weights(train, start, TRAINING, SMALL))
    assert objective(weights) < objective(start)


def test_with_equal_weights_in_the_sweep_alone_it_is_the_equal_weights_model() -> None:
    train, weights, record, start = _fixed(comparison=SWEEP.model_copy(update={"sweep": [0.5]}))
    equal = train_equal_weights(train, start, TRAINING, SMALL)
    assert record["chosen"] == {"priority": 1.0, "constraint": 1.0}
    assert all(torch.equal(equal[name], weights[name]) for name in equal)


def test_where_no_weights_keep_the_limits_the_nearest_are_taken(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _, _, record, _ = _fixed(comparison=SWEEP.model_copy(update={"margin": 0.0, "sweep": [0.7, 0.9]}))
    excess = [point["excess"]["constraint"] for point in record["points"]]
    assert min(excess) > 0
    assert record["chosen"] == record["points"][excess.index(min(excess))]["weights"]
    assert (
        f"none of 2 keeps all limits to within 0%, this one comes nearest with {1 + min(excess):.3g} times a limit"
        in (caplog.text)
    )


def test_an_empty_sweep_is_no_sweep(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _, weights, record, _ = _fixed(comparison=SWEEP.model_copy(update={"sweep": []}))
    assert (weights, record) == ({}, {"chosen": None, "points": []})
    assert "best weights" not in caplog.text


def test_a_table_without_a_validation_part_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    one_group = replace(_table(), groups=np.zeros(200, dtype=np.int64))
    _, weights, record, _ = _fixed(table=one_group)
    assert (weights, record["chosen"]) == ({}, None)
    assert "best weights: not compared with, because there is no validation part: all 150 rows are of one group" in (
        caplog.text
    )


def test_the_validation_part_has_no_part_in_what_is_tried() -> None:
    """Other calibrated weights, which have seen all training rows, change nothing that is tried."""
    parts = split(_table(), DIVISION)
    threshold, start, _ = calibrate(parts.train, CALIBRATION, SMALL)
    other = {name: tensor + 1 for name, tensor in start.items()}
    given = (_table(), parts.rows, parts.train, threshold)
    records = [
        train_fixed_weights(*given, calibrated, SWEEP, TRAINING, DIVISION, SMALL)[1] for calibrated in (start, other)
    ]
    assert records[0] == records[1]


def test_a_sweep_that_was_killed_goes_on_from_its_states(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    checkpointing = Checkpointing(DEFAULT_CHECKPOINT, CheckpointFolder(tmp_path))
    _, weights, record, _ = _fixed(checkpointing=checkpointing)
    assert {path.name.rpartition("-")[0] for path in tmp_path.iterdir()} == {
        "sweep_0.1",
        "sweep_0.6",
        "sweep_0.9",
        "train_fixed_weights",
    }
    assert "is done" not in caplog.text
    _, again, same, _ = _fixed(checkpointing=checkpointing)
    assert "sweep_0.6 is done: step" in caplog.text
    assert same == record
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    caplog.clear()
    _fixed(replace(SMALL, seed=1), checkpointing=checkpointing)
    assert "is done" not in caplog.text
