"""Try one pair of gamma and alpha; choose the best of all pairs."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    Seed,
    SplitParameters,
    TrainingParameters,
    TuningParameters,
)
from idbpd.experiment.problem import build_problem, thresholds_of
from idbpd.experiment.progress import Progress
from idbpd.experiment.provenance import differences, parameters_of, require_same, settings
from idbpd.mtl import MultiTaskData
from idbpd.optim import Record, Solution, solve
from idbpd.pipelines.training.history import history_frame

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


def make_trial(trial: Trial) -> Callable[..., tuple[dict[str, Any], pd.DataFrame]]:
    """The node that runs Algorithm 1 with the pair of ``trial``."""

    def try_pair(
        train: MultiTaskData,
        threshold: dict[str, Any],
        fingerprint: dict[str, str],
        calibrated_weights: dict[str, Tensor],
        tuning: TuningParameters,
        training: TrainingParameters,
        model: ModelParameters,
        problem: ProblemParameters,
        compute: ComputeParameters,
        seed: Seed,
    ) -> tuple[dict[str, Any], pd.DataFrame]:
        """What the iterate with the smallest worst residual reached, and the history of the run."""
        problem_settings = settings(model, problem, compute, seed, fingerprint)
        require_same(threshold["made_with"], problem_settings, "threshold", "calibrate")
        thresholds = thresholds_of(threshold)
        built = build_problem(train, train.priority.name, thresholds, model, problem, compute, seed)
        start = built.initial_weights
        if training.start == "calibrated":
            start = {name: calibrated_weights[name].to(tensor) for name, tensor in start.items()}
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
        made_with = _trial_settings(problem_settings, tuning, training, threshold)
        return {**result, "made_with": made_with}, history_frame(solution, list(thresholds))

    return try_pair


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
    problem_settings: Mapping[str, Any],
    tuning: TuningParameters,
    training: TrainingParameters,
    threshold: Mapping[str, Any],
) -> dict[str, Any]:
    """All that two trials must share to be compared."""
    return {
        **problem_settings,
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
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
    threshold: dict[str, Any],
    fingerprint: dict[str, str],
    *trials: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """All pairs, the best first, and the best as what ``kedro run --config`` takes, setting and all.

    The best pair has the smallest of the worst residuals: the largest of stationarity, infeasibility and slackness, all
    three at the same iterate. One of them alone says nothing.
    """
    now = _trial_settings(settings(model, problem, compute, seed, fingerprint), tuning, training, threshold)
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
        "split": split, "features": features, "model": model, "problem": problem, "calibration": calibration,
        "compute": compute,
    }  # fmt: skip
    chosen = {name: block.model_dump(mode="json", by_alias=True) for name, block in blocks.items()}
    options = {"gamma": best["gamma"], "alpha": best["alpha"]}
    chosen["training"] = {**training.model_dump(mode="json"), "method": METHOD}
    parameters = {"dataset": dataset, "seed": seed, **chosen, "methods": {METHOD: options}}
    return table, {"run": {"params": parameters}}
