"""The robust multi-task problems on which a safeguard is measured."""

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from idbpd.datasets.table import StoredFeatures
from idbpd.datasets.table_checks import as_table
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.optim import Record, solve

PROJECT = Path(__file__).parents[1]
NEVER = 10**9


@dataclass(frozen=True)
class Setting:
    """Under which conditions a multi-task problem is solved."""

    regularisation: float
    weight_decay: float
    slack: float
    test_fraction: float
    start: str
    preconditioner: bool  # whether limits are calibrated in the metric of the layers


@dataclass(frozen=True)
class Size:
    """How much is done on a data set."""

    product: int  # evaluations in the product's setting
    paper: int
    random: int
    calibration_steps: int
    rows: int | None = None  # the first so many; None: all


SETTINGS = {
    "product": Setting(0.1, 1e-3, 0.1, 0.2, "calibrated", preconditioner=True),
    "paper": Setting(1e-3, 0.0, 0.0, 0.0, "random", preconditioner=False),
    "random": Setting(
        0.1, 1e-3, 0.1, 0.2, "random", preconditioner=True
    ),  # the product's from random weights; only where asked for
}
SMALL, LARGE = Size(200, 200, 200, 500), Size(40, 40, 40, 60, 3000)
DATA = {"multi_digits": SMALL, "chd49": SMALL, "yeast": SMALL, "20ng": LARGE, "multi_mnist": LARGE,
        "multi_fashion": LARGE}  # fmt: skip
SEEDS = (0, 1, 2)
MODEL, COMPUTE = ModelParameters(hidden=100), ComputeParameters(device="cpu", dtype="float32", threads=1)
TOLERANCE, NEAR, FEASIBLE = 1e-3, 1e-2, 1e-4
CONTROLS = {"control_1": 1, "control_2": 2}  # by the seed of what is added to the start
SHAKE = 1e-6


class Reached(NamedTuple):
    """What a run on data came to."""

    objective: float | None  # the lowest among feasible iterates
    infeasibility: float  # of the last iterate
    residual: float  # the worst of the last iterate
    evaluations: int | None  # until the residual has come down to `NEAR`; None: it has not
    spent: int
    arrived: bool  # whether it came down to the tolerance


@cache
def _table(dataset: str) -> Any:
    bootstrap_project(PROJECT)
    with KedroSession.create(PROJECT, runtime_params={"dataset": dataset}) as session:
        assert isinstance(session, KedroSession)
        table = as_table(session.load_context().catalog.load("source"))
    rows = DATA[dataset].rows
    if rows is None:
        return table
    assert not isinstance(table.features, StoredFeatures)
    return replace(
        table,
        features=table.features[:rows],
        labels=table.labels[:rows],
        groups=None if table.groups is None else table.groups[:rows],
        positions={name: column[:rows] for name, column in table.positions.items()},
    )


def prepared(dataset: str, setting: str, seed: int, folder: Path) -> dict[str, Any]:
    """The training part, the threshold and the calibrated weights; from a file where there is one."""
    file = folder / f"{dataset}-{setting}-{seed}.pt"
    if not file.exists():
        chosen, size = SETTINGS[setting], DATA[dataset]
        splitting = SplitParameters(test_fraction=chosen.test_fraction, seed=0)
        train, *_, fingerprint = split(_table(dataset), Division(splitting, FeatureParameters(scaling="none")))
        rules = CalibrationParameters(
            slack=chosen.slack,
            max_steps=size.calibration_steps,
            tolerance=3e-4,
            preconditioner=chosen.preconditioner,
        )
        threshold, weights, _ = calibrate(train, rules, _experiment(chosen, seed, fingerprint))
        folder.mkdir(parents=True, exist_ok=True)
        torch.save({"train": train, "threshold": thresholds_of(threshold), "weights": weights}, file)
    loaded: dict[str, Any] = torch.load(file, weights_only=False)
    return loaded


def _experiment(setting: Setting, seed: int, fingerprint: dict[str, str]) -> Experiment:
    problem = ProblemParameters.model_validate({"lambda": setting.regularisation, "weight_decay": setting.weight_decay})
    return Experiment(MODEL, problem, COMPUTE, seed, fingerprint)


def measure_data(dataset: str, setting: str, seed: int, folder: Path, shake: int | None = None) -> Reached:
    """A run with a fixed number of evaluations; ``shake`` changes the start a little, by this seed."""
    known = prepared(dataset, setting, seed, folder)
    train, chosen = known["train"], SETTINGS[setting]
    budget: int = getattr(DATA[dataset], setting)
    built = _experiment(chosen, seed, {"split_sha256": ""}).build(train, train.priority.name, known["threshold"])
    start = built.initial_weights
    if chosen.start == "calibrated":
        start = {name: known["weights"][name].to(tensor) for name, tensor in start.items()}
    if shake is not None:
        generator = torch.Generator().manual_seed(shake)
        start = {
            name: tensor * (1 + SHAKE * torch.randn(tensor.shape, generator=generator))
            for name, tensor in start.items()
        }
    best, last = math.inf, None
    reached: int | None = None

    def watch(record: Record) -> bool:
        nonlocal best, last, reached
        violation, worst = max([0.0, *record.g.tolist()]), float(record.kkt.worst)
        if violation <= FEASIBLE:
            best = min(best, float(record.f))
        if reached is None and worst <= NEAR:
            reached = record.evaluations
        last = violation, worst, record.evaluations
        return record.evaluations >= budget

    solve(built.oracle, start, tolerance=TOLERANCE, max_steps=NEVER, callback=watch)
    assert last is not None
    return Reached(best if math.isfinite(best) else None, *last[:2], reached, last[2], last[1] <= TOLERANCE)
