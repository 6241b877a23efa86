"""What a worker process does: calibrate, or run one method for its time."""

import platform
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method, method_options
from idbpd.datasets import MultiTaskDataset
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.certificate import evaluate_exactly
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.problem import BuiltProblem, criteria_of, weights_of
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.mtl import MultiTaskData
from idbpd.optim import Oracle, Solution, solve
from idbpd.pipelines.benchmark.jobs import Calibration, Job, MethodRun
from idbpd.pipelines.benchmark.observer import FEASIBLE, Observer, thinned
from idbpd.redaction import without_secrets

# A run ends when its time is over, not after a number of steps.
NO_LIMIT = 10**9
TINY = 1e-300
# An option of a method whose schedule depends on how many steps there will be.
HORIZON, PARTS_FOR_THE_HORIZON = "horizon", 20
PARTS = ("train", "test")


def save_parts(folder: Path, train: MultiTaskData, test: MultiTaskData) -> None:
    """Leave the data where workers find them."""
    for name, part in zip(PARTS, (train, test), strict=True):
        MultiTaskDataset(filepath=str(folder / f"{name}.safetensors")).save(part)


@lru_cache(maxsize=2)  # the jobs of one data set follow one another; two, because the next may begin meanwhile
def _parts(folder: str) -> tuple[MultiTaskData, MultiTaskData]:
    train, test = (MultiTaskDataset(filepath=str(Path(folder) / f"{name}.safetensors")).load() for name in PARTS)
    return train, test


def execute(job: Job) -> JobResult:
    """The result of a job."""
    return _calibrate(job) if isinstance(job, Calibration) else _run(job)


def _calibrate(job: Calibration) -> JobResult:
    train, _ = _parts(job.arena.folder)
    threshold, weights, _ = calibrate(train, job.arena.setting.calibration, job.experiment)
    on_host = {name: tensor.cpu() for name, tensor in weights.items()}
    return JobResult(job.made_with, {"threshold": threshold}, on_host)


def _run(job: MethodRun) -> JobResult:
    arena = job.calibration.arena
    setting = arena.setting
    train, test = _parts(arena.folder)
    built = job.calibration.experiment.build(train, train.priority.name, thresholds_of(job.start.threshold))
    begin_at = built.first_weights(setting.training.start, job.start.weights)
    options = _with_horizon(job, built.oracle, begin_at)
    observer = Observer(make_method(job.method, options), job.seconds)
    solution = solve(
        built.oracle,
        begin_at,
        observer,
        max_steps=NO_LIMIT,
        tolerance=arena.budget.tolerance,
        callback=observer.record,
    )
    history = observer.history(solution)
    metrics = {"total_seconds": observer.seconds, **_reached(solution, history)}
    if not job.is_trial:
        metrics |= _certificate(job, solution, train)
        if setting.split.test_fraction > 0:
            metrics |= _test_quality(job, built, weights_of(solution), test)
    record = {
        "trial": job.is_trial,
        "tags": {**job.tags, "status": solution.status.name},
        "parameters": {**_parameters(job), "options": options},
        "metrics": {name: value for name, value in metrics.items() if value is not None},
    }
    columns = thinned(history) if not job.is_trial else history[:0]
    return JobResult(
        job.made_with, record, {str(name): torch.tensor(column.to_numpy(float)) for name, column in columns.items()}
    )


def _with_horizon(job: MethodRun, oracle: Oracle, begin_at: dict[str, Tensor]) -> dict[str, Any]:
    """The options of the job; a schedule that needs the number of steps gets the number that fits into the time.

    A short run, which is not counted, measures how fast the method is on this problem.
    """
    options = dict(job.options)
    if HORIZON in method_options(job.method) and HORIZON not in options:
        probe = Observer(make_method(job.method, options), job.seconds / PARTS_FOR_THE_HORIZON)
        found = solve(oracle, begin_at, probe, max_steps=NO_LIMIT, tolerance=TINY, callback=probe.record)
        options[HORIZON] = max(1, round(found.steps / probe.seconds * job.seconds))
    return options


def _reached(solution: Solution, history: pd.DataFrame) -> dict[str, float | None]:
    """The best of a run, each at an iterate of its own; None where there is no such iterate."""
    feasible = history[history["constraint"] <= FEASIBLE]
    worst_with_best = history[["best_stationarity", "infeasibility", "best_slackness"]].max(axis=1, skipna=False)
    return {
        "total_steps": float(solution.steps),
        "total_evaluations": float(solution.evaluations),
        "total_gradients": float(solution.gradients),
        "lowest_feasible_objective": float(feasible["objective"].min()) if len(feasible) else None,
        "seconds_to_feasible": float(feasible["seconds"].iloc[0]) if len(feasible) else None,
        "least_infeasibility": float(history["infeasibility"].min()),
        "least_residual": float(history[["stationarity", "infeasibility", "slackness"]].max(axis=1).min()),
        "least_best_residual": float(worst_with_best.min()),
    }


def _certificate(job: MethodRun, solution: Solution, train: MultiTaskData) -> dict[str, float]:
    """The returned model judged in float64, with the multiplier that was returned and with the best one."""
    thresholds = thresholds_of(job.start.threshold)
    point = evaluate_exactly(train, thresholds, job.calibration.experiment, weights_of(solution))
    metrics = {"final_objective": point.evaluation.f.item(), "final_constraint": point.evaluation.g.max().item()}
    candidates = {"final_": solution.multipliers, "final_best_": point.best_multipliers}
    for prefix, multipliers in candidates.items():
        metrics[f"{prefix}multiplier"] = multipliers.max().item()
        metrics |= {f"{prefix}{name}": value for name, value in point.kkt(multipliers)._asdict().items()}
    return metrics


def _test_quality(
    job: MethodRun, built: BuiltProblem, weights: dict[str, Tensor], test: MultiTaskData
) -> dict[str, float]:
    measured = built.quality(weights, test, criteria_of(job.calibration.arena.setting.problem))
    quality: dict[str, float] = {}
    for name, task in measured.items():
        metric, value = task.headline
        quality |= {f"test_{name}_worst_case_loss": task.worst_case_loss, f"test_{name}_{metric}": value}
    return quality


def _parameters(job: MethodRun) -> dict[str, Any]:
    """The tracked parameters of a cell: the problem, the budget, and what calibration and trials cost."""
    arena = job.calibration.arena
    setting = arena.setting
    return {
        "threshold": job.start.threshold["threshold"],
        "calibration_seconds": sum(task["seconds"] for task in job.start.threshold["tasks"].values()),
        "calibration_steps": sum(task["steps"] for task in job.start.threshold["tasks"].values()),
        "budget_seconds": job.seconds,
        "tolerance": arena.budget.tolerance,
        "start": setting.training.start,
        "problem": setting.problem.model_dump(by_alias=True),
        "model": without_secrets(setting.model.model_dump()),
        "tuning": dict(job.tuning),
        "split_sha256": arena.fingerprint["split_sha256"],
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} {platform.system()}, torch {torch.__version__}",
        "measured_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
    }
