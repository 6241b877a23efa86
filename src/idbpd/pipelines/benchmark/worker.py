"""What happens in a worker process: calibrate, or run one method for its time."""

import platform
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method, method_options
from idbpd.datasets import MultiTaskDataset, StoredResult
from idbpd.experiment.problem import build_problem, criteria_of, thresholds_of, weights_of
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.optim import Oracle, Solution, solve
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.pipelines.benchmark.jobs import Calibration, Job, MethodRun
from idbpd.pipelines.benchmark.observer import FEASIBLE, Observer, thinned
from idbpd.pipelines.calibration.nodes import calibrate

# The time ends a run, not the number of its steps.
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


def execute(job: Job) -> StoredResult:
    """The result of a job."""
    return _calibrate(job) if isinstance(job, Calibration) else _run(job)


def _calibrate(job: Calibration) -> StoredResult:
    train, _ = _parts(job.arena.folder)
    setting = job.arena.setting
    threshold, weights = calibrate(
        train,
        dict(job.arena.fingerprint),
        setting.calibration,
        setting.model,
        setting.problem,
        setting.compute,
        job.seed,
    )
    return StoredResult(job.key, {"threshold": threshold}, {name: tensor.cpu() for name, tensor in weights.items()})


def _run(job: MethodRun) -> StoredResult:
    arena = job.calibration.arena
    setting = arena.setting
    train, test = _parts(arena.folder)
    thresholds = thresholds_of(job.start.threshold)
    built = build_problem(
        train, train.priority.name, thresholds, setting.model, setting.problem, setting.compute, job.calibration.seed
    )
    begin_at = built.initial_weights
    if setting.training.start == "calibrated":
        begin_at = {name: job.start.weights[name].to(tensor) for name, tensor in begin_at.items()}
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
            built.network.load_state_dict(weights_of(solution))
            metrics |= _test_quality(job, built.network, test)
    record = {
        "trial": job.is_trial,
        "tags": {**job.tags, "status": solution.status.name},
        "parameters": {**_parameters(job), "options": options},
        "metrics": {name: value for name, value in metrics.items() if value is not None},
    }
    columns = thinned(history) if not job.is_trial else history[:0]
    return StoredResult(
        job.key, record, {str(name): torch.tensor(column.to_numpy(float)) for name, column in columns.items()}
    )


def _with_horizon(job: MethodRun, oracle: Oracle, begin_at: dict[str, Tensor]) -> dict[str, Any]:
    """The options of the job; a schedule for a number of steps gets the number that its time is enough for.

    How fast the method is on this problem is found by a short run, which is not counted.
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
    setting = job.calibration.arena.setting
    exact = setting.compute.model_copy(update={"dtype": "float64"})
    built = build_problem(
        train,
        train.priority.name,
        thresholds_of(job.start.threshold),
        setting.model,
        setting.problem,
        exact,
        job.calibration.seed,
    )
    weights = weights_of(solution)
    x = torch.cat([weights[name].to(initial).flatten() for name, initial in built.initial_weights.items()])
    evaluation = built.oracle.evaluate(x, built.oracle.start(x))
    gradients = built.oracle.differentiate(evaluation)
    metrics = {"final_objective": evaluation.f.item(), "final_constraint": evaluation.g.max().item()}
    candidates: dict[str, Tensor] = {
        "final_": solution.multipliers.to(x.device),
        "final_best_": best_multipliers(evaluation.g, gradients),
    }
    for prefix, multipliers in candidates.items():
        kkt = residuals(evaluation.g, gradients, multipliers).measured()
        metrics[f"{prefix}multiplier"] = multipliers.max().item()
        metrics |= {f"{prefix}{name}": value for name, value in kkt._asdict().items()}
    return metrics


def _test_quality(job: MethodRun, network: torch.nn.Module, test: MultiTaskData) -> dict[str, float]:
    setting = job.calibration.arena.setting
    device, dtype = next(network.parameters()).device, next(network.parameters()).dtype
    measured = measure_quality(network, test.to(device, dtype), criteria_of(setting.problem))
    quality = {f"test_{name}_worst_case_loss": task.worst_case_loss for name, task in measured.items()}
    return quality | {f"test_{name}_hit_rate": task.hit_rate for name, task in measured.items()}


def _parameters(job: MethodRun) -> dict[str, Any]:
    """What a person asks about a cell: the problem, the options, the time, and what was spent before."""
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
        "model": setting.model.model_dump(),
        "tuning": dict(job.tuning),
        "split_sha256": arena.fingerprint["split_sha256"],
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} {platform.system()}, torch {torch.__version__}",
        "measured_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
    }
