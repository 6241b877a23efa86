"""Prepare the data sets, run what has not been run yet, and hand over every result as soon as it is there."""

import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from idbpd.datasets import StoredResult
from idbpd.datasets.table_checks import as_table
from idbpd.experiment.devices import resolve_device
from idbpd.experiment.parameters import (
    BenchmarkParameters,
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    SplitParameters,
    TrainingParameters,
)
from idbpd.pipelines.benchmark.agenda import Agenda, failed_cell
from idbpd.pipelines.benchmark.board import Board
from idbpd.pipelines.benchmark.jobs import Arena, Budget, Job, MethodRun, Setting
from idbpd.pipelines.benchmark.worker import save_parts
from idbpd.pipelines.benchmark.workers import Workers
from idbpd.pipelines.splitting.nodes import split as split_table
from idbpd.validation import validated

logger = logging.getLogger(__name__)

# A block that a setting must make definite: it says a number where people may say auto.
SOLVED = {"problem": ProblemParameters}

Sources = Mapping[str, Callable[[], Any]]
Stored = Mapping[str, Callable[[], StoredResult]]


def run_cells(
    sources: Sources,
    stored: Stored,
    benchmark: BenchmarkParameters,
    split: SplitParameters,
    features: FeatureParameters,
    model: ModelParameters,
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    training: TrainingParameters,
    compute: ComputeParameters,
) -> Iterator[StoredResult]:
    """Every cell of the benchmark, and the calibrations and trials on the way, as they are finished.

    What is stored under the same key is read instead of run: after an interruption only what is missing is done.
    """
    blocks = {
        "split": split,
        "features": features,
        "problem": problem,
        "calibration": calibration,
        "training": training,
    }
    settings = [_setting(name, benchmark, blocks, model, compute) for name in benchmark.settings]
    with tempfile.TemporaryDirectory(prefix="idbpd-benchmark-") as folder:
        arenas = [
            arena
            for dataset in benchmark.datasets
            for arena in _arenas(dataset, sources[dataset], settings, benchmark, Path(folder))
        ]
        agenda = Agenda(arenas, benchmark.methods)
        workers = _worker_count(benchmark, compute)
        minutes = agenda.seconds / workers / 60
        logger.info(
            "%d cells in %d processes: at most %.0f minutes, and calibration", agenda.cell_count, workers, minutes
        )
        yield from _work(agenda, stored, workers)


def _work(agenda: Agenda, stored: Stored, workers: int) -> Iterator[StoredResult]:
    ready: deque[Job] = deque(agenda.first())
    unused = set(stored)
    with Board(agenda.cell_count) as board, Workers(workers) as pool:
        while ready or pool.busy:
            finished: list[tuple[Job, StoredResult]] = []
            if ready and ready[0].key in stored:
                job = ready.popleft()
                finished.append((job, stored[job.key]()))
            elif ready and pool.free:
                pool.submit(ready.popleft())
            else:
                finished.extend(pool.finished())
            for job, found in finished:
                unused.discard(job.key)
                result = found
                if isinstance(job, MethodRun) and found.failed is not None:
                    result = failed_cell(job, found.failed, found.record.get("traceback", ""))
                yield from _kept(job, result)
                board.show(job, result)  # it has been saved when it is shown
                following = list(agenda.after(job, result))
                for lost in (one for one in following if isinstance(one, StoredResult)):
                    yield lost
                    board.lost(lost)
                # What belongs to data that are being worked on goes first: a data set is finished before the next.
                ready.extendleft(reversed([one for one in following if not isinstance(one, StoredResult)]))
    if unused:
        logger.info("%d stored results are of other data, parameters or code, and were not used", len(unused))


def _kept(job: Job, result: StoredResult) -> Iterator[StoredResult]:
    """What is worth keeping: all that succeeded, and of what failed the cells."""
    if result.failed is None or (isinstance(job, MethodRun) and not job.is_trial):
        yield result


def _setting(
    name: str,
    benchmark: BenchmarkParameters,
    blocks: Mapping[str, Any],
    model: ModelParameters,
    compute: ComputeParameters,
) -> Setting:
    """The blocks as the setting changes them, checked again."""
    changes = benchmark.changes[name]
    changed = {
        block: validated(
            f"benchmark.changes.{name}.{block}",
            SOLVED.get(block, type(value)),
            {**value.model_dump(by_alias=True), **getattr(changes, block)},
        )
        for block, value in blocks.items()
    }
    return Setting(name=name, model=model, compute=compute, **changed)


def _arenas(
    dataset: str, load: Callable[[], Any], settings: list[Setting], benchmark: BenchmarkParameters, folder: Path
) -> Iterator[Arena]:
    table = as_table(load())
    large = benchmark.large if len(table) >= benchmark.large.samples else None
    budget = large or benchmark
    for setting in settings:
        train, test, _, fingerprint = split_table(table, setting.split, setting.features)
        place = folder / dataset / setting.name
        save_parts(place, train, test)
        calibration = setting.calibration.model_copy(update={"max_steps": budget.calibration_steps})
        yield Arena(
            dataset=dataset,
            setting=Setting(**{**setting.__dict__, "calibration": calibration}),
            fingerprint=fingerprint,
            folder=str(place),
            budget=Budget(budget.seconds, budget.tuning_seconds, benchmark.tolerance),
            seeds=tuple(budget.seeds),
        )


def _worker_count(benchmark: BenchmarkParameters, compute: ComputeParameters) -> int:
    """As many as there are cores to work on: more would take the time from each other that is being compared."""
    if benchmark.workers == "auto" and resolve_device(compute.device).type != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if benchmark.workers == "auto":
        return cores
    if benchmark.workers > cores:
        logger.warning("benchmark.workers = %d, but there are %d cores: using %d", benchmark.workers, cores, cores)
    return min(benchmark.workers, cores)
