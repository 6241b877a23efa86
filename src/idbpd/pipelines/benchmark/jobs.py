"""What a worker process is asked to do, and the digest that tells one request from another."""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.provenance import solver_sha256

# To be raised when what is done or measured here changes.
FORMAT = 2


@dataclass(frozen=True)
class Setting:
    """The blocks of parameters under which methods are compared."""

    name: str
    split: SplitParameters
    features: FeatureParameters
    model: ModelParameters
    problem: ProblemParameters
    calibration: CalibrationParameters
    training: TrainingParameters
    compute: ComputeParameters


@dataclass(frozen=True)
class Budget:
    """How long each method may work on a data set."""

    seconds: float
    tuning_seconds: float
    tolerance: float


@dataclass(frozen=True)
class Arena:
    """A data set in a setting, ready to be worked on: its parts are files that workers read."""

    dataset: str
    setting: Setting
    fingerprint: Mapping[str, str]
    folder: str
    budget: Budget
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Calibration:
    """Find the thresholds and the start that all methods share."""

    arena: Arena
    seed: int

    @cached_property
    def key(self) -> str:
        """All that decides the thresholds and the start."""
        setting = self.arena.setting
        return digest(
            ("calibration", FORMAT),
            self.arena.fingerprint["split_sha256"],
            {
                block: getattr(setting, block).model_dump(by_alias=True)
                for block in ("model", "problem", "calibration", "compute")
            },
            self.seed,
            solver_sha256(),
            torch.__version__,
        )


@dataclass(frozen=True)
class Start:
    """What calibration found."""

    threshold: Mapping[str, Any]
    weights: Mapping[str, Tensor]


@dataclass(frozen=True)
class MethodRun:
    """Run one method with one choice of options: a cell of the benchmark, or a trial to choose the options by."""

    calibration: Calibration
    start: Start
    method: str
    options: Mapping[str, float]
    seconds: float
    is_trial: bool
    tuning: Mapping[str, float]  # what was learnt by trials: how many there were, how long they took, what they reached

    @cached_property
    def key(self) -> str:
        """All that decides the result."""
        arena = self.calibration.arena
        return digest(
            "trial" if self.is_trial else "cell",
            self.calibration.key,
            arena.setting.training.start,
            self.method,
            dict(self.options),
            self.seconds,
            arena.budget.tolerance,
            platform.node(),  # seconds of one machine are not those of another
        )

    @property
    def tags(self) -> dict[str, str]:
        """Who it is."""
        arena = self.calibration.arena
        return {
            "dataset": arena.dataset,
            "method": self.method,
            "seed": str(self.calibration.seed),
            "setting": arena.setting.name,
        }


Job = Calibration | MethodRun


def digest(*parts: Any) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
