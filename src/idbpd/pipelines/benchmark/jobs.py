"""What a worker process is asked to do, and the settings that tell one job from another."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.module_type import module_class
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.records.content_store import content_key
from idbpd.experiment.records.provenance import code_sha256, network_sha256, parameters_of, solver_sha256

# Raise it when the benchmark does or measures something else: stored results are then computed again.
FORMAT = 3
MEASURING_CODE = (
    "experiment/limits/certificate.py",
    "pipelines/benchmark/observer.py",
    "pipelines/benchmark/worker.py",
)


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

    @property
    def experiment(self) -> Experiment:
        """What is solved, and on which data."""
        setting = self.arena.setting
        return Experiment(setting.model, setting.problem, setting.compute, self.seed, dict(self.arena.fingerprint))

    @cached_property
    def made_with(self) -> dict[str, Any]:
        """All that decides the thresholds and the start."""
        return {
            "job": "calibration",
            "format": FORMAT,
            **self.experiment.made_with,
            **parameters_of("calibration", self.arena.setting.calibration),
            **parameters_of("compute", self.arena.setting.compute),
            "solver code (SHA-256)": solver_sha256(),
            "network code (SHA-256)": self._network_sha256(),
            "torch": str(torch.__version__),
        }

    def _network_sha256(self) -> str | None:
        """Of a network of the user's own; the default network is part of the solver code."""
        kind = self.arena.setting.model.type
        return None if kind is None else network_sha256(module_class(kind))

    @cached_property
    def key(self) -> str:
        """The name under which its result is stored."""
        return content_key(self.made_with)


@dataclass(frozen=True)
class Start:
    """What calibration found."""

    threshold: Mapping[str, Any]
    weights: Mapping[str, Tensor]


@dataclass(frozen=True)
class MethodRun:
    """Run one method with one choice of options: a cell of the benchmark, or a trial that helps to choose options."""

    calibration: Calibration
    start: Start
    method: str
    options: Mapping[str, float]
    seconds: float
    is_trial: bool
    tuning: Mapping[str, float]  # what the trials showed: how many there were, how long they took, what they reached

    @cached_property
    def made_with(self) -> dict[str, Any]:
        """All that decides the result."""
        arena = self.calibration.arena
        return {
            **self.calibration.made_with,
            "job": "trial" if self.is_trial else "cell",
            "training.start": arena.setting.training.start,
            "method": self.method,
            "options": dict(self.options),
            "seconds": self.seconds,
            "benchmark.tolerance": arena.budget.tolerance,
            "measuring code (SHA-256)": _measuring_sha256(),
            "machine": platform.node(),  # seconds of one machine are not those of another
        }

    @cached_property
    def key(self) -> str:
        """The name under which its result is stored."""
        return content_key(self.made_with)

    @property
    def tags(self) -> dict[str, str]:
        """What identifies the tracked run."""
        arena = self.calibration.arena
        return {
            "dataset": arena.dataset,
            "method": self.method,
            "seed": str(self.calibration.seed),
            "setting": arena.setting.name,
        }


Job = Calibration | MethodRun


@cache
def _measuring_sha256() -> str:
    """Of the code that measures and judges, beside the solver's own."""
    return code_sha256(parts=MEASURING_CODE)
