"""Prepare the data sets, run the jobs without a stored result, and hand over every result as it arrives."""

import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from idbpd.activity import duration
from idbpd.datasets.partial import temporary_folder
from idbpd.datasets.table_checks import as_table
from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.machine.devices import resolve_device
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    SplitParameters,
    TasksParameters,
    TrainingParameters,
)
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split as split_table
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.agenda import Agenda, failed_cell
from idbpd.pipelines.benchmark.board import Board
from idbpd.pipelines.benchmark.cluster import Cluster
from idbpd.pipelines.benchmark.jobs import Arena, Budget, Job, MethodRun, Setting
from idbpd.pipelines.benchmark.parameters import BenchmarkParameters
from idbpd.pipelines.benchmark.worker import save_parts
from idbpd.pipelines.benchmark.workers import Workers
from idbpd.validation import validated

logger = logging.getLogger(__name__)

# In this block people may leave a number to a search (auto); a setting of the benchmark must state it.
SOLVED = {"problem": ProblemParameters}

Sources = Mapping[str, Callable[[], Any]]


def run_cells(
    sources: Sources,
    stored: ContentStore,
    benchmark: BenchmarkParameters,
    split: SplitParameters,
    features: FeatureParameters,
    tasks: TasksParameters,
    priority: str | None,
    model: ModelParameters,
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    training: TrainingParameters,
    compute: ComputeParameters,
) -> Iterator[JobResult]:
    """Every cell of the benchmark, and the calibrations and trials on the way, as they are finished.

    A job whose result is stored is not run again: after an interruption only the rest is done.

    A generator, whose results Kedro saves one by one. Kedro recognises only a plain function as one, so the parameters
    are not bundled as in other nodes.
    """
    if compute.distributed.ranks > 1:
        raise ConfigurationError(
            f"the benchmark gives each method the processor time of one process, and compute.distributed has "
            f"{compute.distributed.ranks}; set compute.distributed.processes and nodes to 1"
        )
    blocks = {
        "split": split,
        "features": features,
        "problem": problem,
        "calibration": calibration,
        "training": training,
    }
    settings = [_setting(name, benchmark, blocks, model, compute) for name in benchmark.settings]
    with _shared_folder(benchmark.folder) as folder, _workers(benchmark, compute) as pool:
        arenas = [
            arena
            for dataset in benchmark.datasets
            for arena in _arenas(dataset, sources[dataset], settings, benchmark, Path(folder), tasks, priority)
        ]
        agenda = Agenda(arenas, benchmark.methods)
        logger.info(
            "%d cells in %d process%s: at most %s, and calibration",
            agenda.cell_count,
            pool.count,
            "" if pool.count == 1 else "es",
            duration(agenda.seconds / pool.count),
        )
        yield from _work(agenda, stored, pool)


def _workers(benchmark: BenchmarkParameters, compute: ComputeParameters) -> Workers | Cluster:
    if benchmark.scheduler is None:
        return Workers(_worker_count(benchmark, compute))
    return Cluster(benchmark.scheduler)


def _shared_folder(folder: str | None) -> tempfile.TemporaryDirectory[str]:
    """Where workers find the data."""
    if folder is None:
        return temporary_folder()
    try:
        return tempfile.TemporaryDirectory(prefix="idbpd-benchmark-", dir=folder)
    except OSError as error:
        raise ConfigurationError(f"benchmark.folder = {folder!r} cannot be written: {error.strerror}") from error


def _work(agenda: Agenda, stored: ContentStore, pool: Workers | Cluster) -> Iterator[JobResult]:
    ready: deque[Job] = deque(agenda.first())
    found_before = stored.keys()
    unused = set(found_before)
    with Board(agenda.cell_count) as board:
        while ready or pool.busy:
            finished: list[tuple[Job, JobResult]] = []
            if ready and ready[0].key in found_before:
                finished.extend(_taken_over(ready, stored, found_before))
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
                for lost in (one for one in following if isinstance(one, JobResult)):
                    yield lost
                    board.lost(lost)
                # Jobs on the present data set go first: it is finished before the next one.
                ready.extendleft(reversed([one for one in following if not isinstance(one, JobResult)]))
    if unused:
        logger.info("%d stored results belong to other data, parameters or code, and were not used", len(unused))


def _taken_over(ready: deque[Job], stored: ContentStore, found_before: set[str]) -> Iterator[tuple[Job, JobResult]]:
    """The first job with its stored result; a job whose file turns out to be damaged stays to be run."""
    job = ready[0]
    result = stored.get(job.made_with)
    if result is None:
        found_before.discard(job.key)
    else:
        ready.popleft()
        yield job, JobResult(job.made_with, result.record, result.tensors, reused=True)


def _kept(job: Job, result: JobResult) -> Iterator[JobResult]:
    """The results that are saved: all that succeeded, and failed cells, which are tracked as failed."""
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
    dataset: str,
    load: Callable[[], Any],
    settings: list[Setting],
    benchmark: BenchmarkParameters,
    folder: Path,
    tasks: TasksParameters,
    priority: str | None,
) -> Iterator[Arena]:
    table = as_table(load())
    large = benchmark.large if len(table) >= benchmark.large.samples else None
    budget = large or benchmark
    for setting in settings:
        problem = ProblemSettings.model_validate(setting.problem.model_dump(by_alias=True, exclude={"alone"}))
        parts = split_table(table, Division(setting.split, setting.features, tasks, priority, problem))
        place = folder / dataset / setting.name
        save_parts(place, parts.train, parts.test)
        calibration = setting.calibration.model_copy(update={"max_steps": budget.calibration_steps})
        yield Arena(
            dataset=dataset,
            setting=Setting(**{**setting.__dict__, "calibration": calibration}),
            fingerprint=parts.fingerprint,
            folder=str(place),
            budget=Budget(budget.seconds, budget.tuning_seconds, benchmark.tolerance),
            seeds=tuple(budget.seeds),
        )


def _worker_count(benchmark: BenchmarkParameters, compute: ComputeParameters) -> int:
    """At most one per core: more would take processor time from each other, and time is what is compared."""
    if benchmark.workers == "auto" and resolve_device(compute.device).type != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if benchmark.workers == "auto":
        return cores
    if benchmark.workers > cores:
        logger.warning("benchmark.workers = %d, but there are %d cores: using %d", benchmark.workers, cores, cores)
    return min(benchmark.workers, cores)
