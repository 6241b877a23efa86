"""From the arguments of an estimator to the typed parameters of the pipelines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

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
from idbpd.experiment.splitting.division import Division
from idbpd.pipelines.weight_decay.search import UnsettledExperiment
from idbpd.validation import validated

# Parameters of `kedro run` that an estimator has no argument for. A test compares all defaults with conf/base.
SEARCH = {
    "grid": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0],
    "validation_fraction": 0.25,
    "max_steps": 120,
}
CALIBRATION = {"most_given_up": 0.5, "least_room": 0.01, "reserve_steps": 150}
# Calibration is solved more closely than the training that it sets limits for.
CALIBRATION_TOLERANCE = 0.3


@dataclass(frozen=True)
class Settings:
    """All parameters of one fit."""

    division: Division
    model: ModelParameters
    compute: ComputeParameters
    calibration: CalibrationParameters
    training: TrainingParameters
    search: WeightDecaySearchParameters
    seed: int

    @classmethod
    def of(cls, arguments: Mapping[str, Any], priority: str, task_names: list[str], seed: int) -> Self:
        """Check the arguments of an estimator that predicts these tasks.

        A single task has no limit. Then nothing can be shown on held-out rows, and all rows are for training.
        """
        alone = len(task_names) == 1
        problem = validated("problem", ProblemSettings, {name: arguments[name] for name in _PROBLEM})
        division = Division(
            split=validated(
                "split",
                SplitParameters,
                {"test_fraction": 0.0 if alone else arguments["test_fraction"], "seed": seed},
            ),
            features=FeatureParameters(),
            tasks=validated("tasks", TasksParameters, arguments["tasks"]),
            priority=priority,
            problem_settings=problem,
        )
        steps, tolerance = arguments["max_steps"], arguments["tolerance"]
        training = {"start": "random" if alone else "calibrated", "max_steps": steps, "tolerance": tolerance}
        checked = validated("training", TrainingParameters, training)
        calibration = {
            **CALIBRATION,
            "slack": arguments["slack"],
            "reserve": arguments["reserve"],
            "max_steps": checked.max_steps,
            "tolerance": CALIBRATION_TOLERANCE * checked.tolerance,
        }
        compute = {name: arguments[name] for name in ("device", "dtype", "threads")}
        return cls(
            division=division,
            model=validated("model", ModelParameters, {"hidden": arguments["hidden"]}),
            compute=validated("compute", ComputeParameters, compute),
            calibration=validated("calibration", CalibrationParameters, calibration),
            training=checked,
            search=validated("weight_decay_search", WeightDecaySearchParameters, SEARCH),
            seed=seed,
        )

    def unsettled(self, fingerprint: dict[str, str]) -> UnsettledExperiment:
        """The experiment on data of this fingerprint, before its weight decay is chosen."""
        return UnsettledExperiment(self.model, self.division.problem_settings, self.compute, self.seed, fingerprint)


_PROBLEM = ("loss", "worst_case", "beyond_limits", "weight_decay")
