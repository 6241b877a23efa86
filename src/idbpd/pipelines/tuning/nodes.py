"""Try one pair of gamma and alpha; choose the best of all pairs."""

import logging
import time
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.records.provenance import differences, parameters_of, require_same
from idbpd.experiment.solving.history import history_frame
from idbpd.experiment.solving.progress import Progress
from idbpd.mtl import MultiTaskData
from idbpd.optim import Record, Solution, solve
from idbpd.pipelines.tuning.parameters import TuningParameters
from idbpd.redaction import left_out

logger = logging.getLogger(__name__)

METHOD = "idbpd_paper"


class Trial(NamedTuple):
    """One pair of the grid. The numbers are also names of files and of tracked runs, so they are kept as text."""

    gamma: str
    alpha: str
    number: int
    of: int

    @property
    def options(self) -> dict[str, float]:
        """The pair as the method takes it."""
        return {"gamma": float(self.gamma), "alpha": float(self.alpha)}


def try_pair(
    trial: Trial,
    train: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    tuning: TuningParameters,
    training: TrainingParameters,
    experiment: Experiment,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """What the iterate with the smallest worst residual reached, and the history of the run."""
    require_same(threshold["made_with"], experiment.made_with, "threshold", "calibrate")
    thresholds = thresholds_of(threshold)
    built = experiment.build(train, train.priority.name, thresholds)
    start = built.first_weights(training.start, calibrated_weights)
    title = f"trial {trial.number} of {trial.of}: gamma {trial.gamma}, alpha {trial.alpha}"
    begin = time.perf_counter()
    with Progress(title, tuning.max_steps) as progress:

        def watch(record: Record) -> bool:
            progress(record)
            return tuning.seconds is not None and time.perf_counter() - begin > tuning.seconds

        method = make_method(METHOD, trial.options)
        solution = solve(built.oracle, start, method, tuning.max_steps, training.tolerance, watch)
    seconds = time.perf_counter() - begin
    logger.info("%s: worst residual %.2e, %d steps, %.1f s", title, solution.kkt.worst, solution.steps, seconds)
    result = _result(trial, solution, seconds, threshold["threshold"])
    made_with = _trial_settings(experiment, tuning, training, threshold)
    return {**result, "made_with": made_with}, history_frame(solution, list(thresholds))


def _result(trial: Trial, solution: Solution, seconds: float, threshold: Any) -> dict[str, Any]:
    return {
        **trial.options,
        "worst": solution.kkt.worst,
        "stationarity": solution.kkt.stationarity,
        "infeasibility": solution.kkt.infeasibility,
        "slackness": solution.kkt.slackness,
        "objective": solution.f,
        "constraint": float(solution.g.max()),
        "multiplier": float(solution.multipliers.max()),
        "status": solution.status.name,
        "steps": solution.steps,
        "evaluations": solution.evaluations,
        "seconds": seconds,
        "threshold": threshold,
    }


def _trial_settings(
    experiment: Experiment, tuning: TuningParameters, training: TrainingParameters, threshold: dict[str, Any]
) -> dict[str, Any]:
    """All that two trials must share to be compared."""
    return {
        **experiment.made_with,
        **parameters_of("tuning", tuning),
        "training.start": training.start,
        "training.tolerance": training.tolerance,
        "threshold": threshold["threshold"],
    }


def choose(
    dataset: str,
    split: SplitParameters,
    features: FeatureParameters,
    calibration: CalibrationParameters,
    tuning: TuningParameters,
    training: TrainingParameters,
    threshold: dict[str, Any],
    experiment: Experiment,
    *trials: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """All pairs, the best first, and the best with all other parameters of this run, for ``kedro run --config``.

    The best pair has the smallest worst residual: the largest of stationarity, infeasibility and slackness at one
    iterate. One of them alone says nothing.
    """
    now = _trial_settings(experiment, tuning, training, threshold)
    for trial in trials:
        found = differences(trial["made_with"], now)
        if found:
            raise ConfigurationError(
                f"the stored trial with gamma {trial['gamma']} and alpha {trial['alpha']} was made with {found[0]}; "
                "run the whole grid again, without --only-missing-outputs"
            )
    ranked = sorted(trials, key=lambda trial: float(trial["worst"]))
    best = ranked[0]
    if best["worst"] == float("inf"):
        raise DataError("every trial diverged; are the features of very different sizes? see features.scaling")
    columns = ("gamma", "alpha", "worst", "stationarity", "infeasibility", "slackness", "objective", "status", "steps")
    table = pd.DataFrame([{name: trial[name] for name in columns} for trial in ranked])
    blocks = {
        "split": split,
        "features": features,
        "model": experiment.model,
        "problem": experiment.problem,
        "calibration": calibration,
        "compute": experiment.compute,
    }
    chosen = {name: block.model_dump(mode="json", by_alias=True) for name, block in blocks.items()}
    del chosen["problem"]["alone"]  # no parameter: calibration is done, and its thresholds are what is repeated
    chosen["model"]["options"] = left_out(chosen["model"]["options"])
    options = {"gamma": best["gamma"], "alpha": best["alpha"]}
    chosen["training"] = {**training.model_dump(mode="json"), "method": METHOD}
    parameters = {"dataset": dataset, "seed": experiment.seed, **chosen, "methods": {METHOD: options}}
    return table, {"run": {"params": parameters}}
