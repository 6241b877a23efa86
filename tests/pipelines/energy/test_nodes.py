"""Stages, pruning and fine-tuning on a small table, without Kedro."""

from functools import cached_property
from typing import Any

import numpy as np
import pytest
import torch

from idbpd.datasets.table import Target, TaskTable
from idbpd.energy import verified_energy
from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS
from idbpd.experiment.solving.constrained_training import Trained
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import TableSplit, split
from idbpd.pipelines.energy.budgeted import Budgeted
from idbpd.pipelines.energy.nodes import prune_and_fine_tune, train_dense, train_under_budget
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.plan import plan_energy, samples_of
from idbpd.pipelines.energy.words import energy_headline
from tests.pipelines.small_tasks import PROBLEM

pytestmark = pytest.mark.xdist_group("energy nodes")  # one worker trains the dense model

ENERGY = EnergyParameters.model_validate(
    {
        "budget": 0.4,
        "costs": {"multiply": 3.7, "add": 0.9, "on_chip": 5.0, "off_chip": 640.0},
        "uncertainty": "ball",
        "radius": 0.3,
        "stages": 3,
        "stage_steps": 60,
        "max_steps": 200,
        "sharpness": 0.1,
        "tolerance": 5e-3,
        "residual_limit": 1e-2,
    }
)
TRAINING = TrainingParameters(start="calibrated", max_steps=400, tolerance=1e-3)
MODEL = ModelParameters(hidden=6)
COMPUTE = ComputeParameters(device="cpu", dtype="float32")
CALIBRATION = CalibrationParameters(slack=3.0, max_steps=200, tolerance=1e-4)  # 17 weights cannot keep 1.5


def _table() -> TaskTable:
    draws = np.random.default_rng(0)
    features = draws.normal(size=(200, 4)).astype(np.float32)
    noisy = features[:, :2] @ draws.normal(size=(2, 2)) + 0.5 * draws.normal(size=(200, 2))
    targets = [
        Target(name, "binary", ("yes",), (noisy[:, at : at + 1] > 0).astype(np.float32), other="no")
        for at, name in enumerate(("first", "second"))
    ]
    return TaskTable(features, tuple("uvwx"), np.zeros((200, 0), dtype=np.int8), (), targets=tuple(targets))


class Ground:
    """What a budget starts from."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        parts: TableSplit = split(_table(), Division(SplitParameters(test_fraction=0.3, seed=0), FeatureParameters()))
        self.train = parts.train
        self.experiment = Experiment(MODEL, PROBLEM, COMPUTE, seed=0, fingerprint=parts.fingerprint)
        self.threshold, start, _ = calibrate(self.train, CALIBRATION, self.experiment)
        self.dense: Trained = train_dense(self.train, self.threshold, start, TRAINING, self.experiment)

    @cached_property
    def usual(self) -> Budgeted:
        return self.budgeted()

    def budgeted(self, **changes: Any) -> Budgeted:
        energy = ENERGY.model_copy(update=changes)
        return train_under_budget(self.train, self.threshold, self.dense, energy, self.experiment)


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground()


def test_the_first_stage_begins_within_the_budget_and_the_last_is_a_kkt_point(ground: Ground) -> None:
    found = ground.usual
    assert [stage["width"] for stage in found.stages] == sorted((s["width"] for s in found.stages), reverse=True)
    assert found.stages[-1]["width"] == pytest.approx(0.1 * found.stages[0]["width"])
    assert found.history.query("stage == 1")["infeasibility"].iloc[0] <= 1e-5
    assert found.history["step"].is_unique
    assert list(found.stages[-1]["multipliers"]) == ["second", "trunk", "heads.task.0", "heads.task.1", "energy"]
    worst = max(found.stages[-1][name] for name in ("stationarity", "infeasibility", "slackness"))
    assert worst <= ENERGY.tolerance


def test_a_pruned_model_is_within_its_budget_and_fine_tuning_leaves_its_zeros(ground: Ground) -> None:
    budgeted = ground.usual
    pruned = prune_and_fine_tune(
        ground.train, ground.threshold, budgeted, ENERGY, TRAINING, ground.experiment, NO_CHECKPOINTS
    )
    network = trained_network(MODEL, ground.train, pruned.weights)
    found = verified_energy(network, samples_of(ground.train)[0], ENERGY.hardware)
    plan = plan_energy(ground.train, MODEL, ENERGY, 0)
    assert found.is_within(plan["budget_pj"])
    assert all(found.nonzero[name] <= level for name, level in pruned.levels.items())
    assert pruned.timed.solution.kkt.worst <= 1e-2


def test_weights_that_lead_nowhere_are_refused_in_one_line(ground: Ground) -> None:
    """One weight per layer: into the first unit, and out of the second."""
    weights = {name: torch.zeros_like(tensor) for name, tensor in ground.usual.weights.items()}
    weights["trunk.weight"][0, 0] = 1.0
    for head in ("heads.task.0", "heads.task.1"):
        weights[f"{head}.weight"][:, 1] = 1.0
    smallest = plan_energy(ground.train, MODEL, ENERGY, 0)["smallest_budget"]
    energy = ENERGY.model_copy(update={"budget": 1.01 * smallest})
    nowhere = ground.usual._replace(weights=weights)
    message = r"'energy.budget' = 0\.\d+ is too small to train with: none of the 3 weights that it allows"
    with pytest.raises(ConfigurationError, match=message):
        prune_and_fine_tune(
            ground.train, ground.threshold, nowhere, energy, TRAINING, ground.experiment, NO_CHECKPOINTS
        )


def test_with_the_whole_budget_the_model_stays_dense(ground: Ground) -> None:
    energy = ENERGY.model_copy(update={"budget": 1.0})
    pruned = prune_and_fine_tune(
        ground.train, ground.threshold, ground.budgeted(budget=1.0), energy, TRAINING, ground.experiment, NO_CHECKPOINTS
    )
    assert all(bool((tensor != 0).all()) for tensor in pruned.weights.values())


def test_a_last_stage_that_float32_cannot_end_goes_on_in_float64(ground: Ground) -> None:
    found = ground.budgeted(tolerance=1e-9, stage_steps=5, max_steps=5)
    assert [stage["dtype"] for stage in found.stages] == ["torch.float32"] * 3 + ["torch.float64"]
    assert found.stages[-1]["width"] == found.stages[-2]["width"]


def test_a_headline_says_when_limits_and_budget_do_not_fit_together() -> None:
    residuals = {"stationarity": 0.5, "infeasibility": 0.2, "slackness": 0.0}
    certificate: dict[str, Any] = {
        **residuals,
        "status": "INFEASIBLE",
        "reason": "stuck",
        "constraint": 0.2,
        "tasks": {"second": {}},
        "protects": {"first": "", "second": ""},
        "held_out": None,
        "energy": {
            "share": 0.05,
            "budget": 0.05,
            "within_budget": True,
            "layers": {"trunk": {"nonzero": 3, "weights": 60}},
        },
        "budgeted": {"status": "MAX_STEPS", **residuals},
    }
    lines = energy_headline(certificate, {"train_first_worst_case_loss": 0.7}, 1e-2).splitlines()
    assert lines[0].startswith("WITHIN BUDGET")
    assert lines[0].endswith("3 of 60 weights are left")
    assert lines[1].startswith("BROKEN on the training data: with this budget a limit is exceeded by 0.2000")
    assert "NOT CERTIFIED, a residual is above 0.01" in lines[-1]
