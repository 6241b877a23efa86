"""Which jobs come next: calibration first, then the trials that choose a method's options, then the cells."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from idbpd.baselines import grid
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.jobs import Arena, Calibration, Job, MethodRun, Start

LONGEST_TAG = 4000  # MLflow takes 5000 characters in some stores


class Agenda:
    """Says which jobs a finished job makes possible.

    The options of a method with a grid are chosen per data set and setting, by trials with the first seed; the cells
    of all seeds then use the winner. A cell whose calibration or trials failed is handed back as failed.
    """

    def __init__(self, arenas: Iterable[Arena], methods: Sequence[str]) -> None:
        """Nothing is done yet."""
        self._arenas = tuple(arenas)
        self._methods = tuple(methods)
        self._grids = {name: grid(name) for name in methods if len(grid(name)) > 1}
        self._trials: dict[tuple[str, str], list[tuple[MethodRun, JobResult]]] = defaultdict(list)
        self._starts: dict[str, Start | str] = {}  # by the calibration's key; or why there is none
        self._chosen: dict[tuple[str, str], tuple[Mapping[str, float], Mapping[str, float]] | str] = {}

    @property
    def cell_count(self) -> int:
        """How many cells there are in all."""
        return sum(len(arena.seeds) for arena in self._arenas) * len(self._methods)

    @property
    def seconds(self) -> float:
        """How long all cells and all trials take at most."""
        trials = sum(len(points) for points in self._grids.values())
        return sum(
            arena.budget.seconds * len(arena.seeds) * len(self._methods) + arena.budget.tuning_seconds * trials
            for arena in self._arenas
        )

    def first(self) -> list[Job]:
        """The jobs that need no other: all calibrations, in the order in which the data sets were named."""
        return [Calibration(arena, seed) for arena in self._arenas for seed in arena.seeds]

    def after(self, job: Job, result: JobResult) -> Iterator[Job | JobResult]:
        """The jobs that ``result`` makes possible, and the cells that it makes impossible, as failed results."""
        if isinstance(job, Calibration):
            self._starts[job.key] = result.failed or Start(result.record["threshold"], result.tensors)
            yield from self._after_calibration(job)
        elif job.is_trial:
            yield from self._after_trial(job, result)

    def _after_calibration(self, calibration: Calibration) -> Iterator[Job | JobResult]:
        start = self._starts[calibration.key]
        tunes = calibration.seed == calibration.arena.seeds[0]
        for method in self._methods:
            if method not in self._grids or isinstance(start, str):
                yield from self._cell(calibration, method, {}, {})
            elif tunes:
                seconds = calibration.arena.budget.tuning_seconds
                for options in self._grids[method]:
                    yield MethodRun(calibration, start, method, options, seconds, is_trial=True, tuning={})
            else:
                yield from self._tuned_cell(calibration, method)
            if tunes and method in self._grids and isinstance(start, str):
                for other in self._waiting(calibration.arena):
                    yield from self._tuned_cell(other, method)

    def _after_trial(self, job: MethodRun, result: JobResult) -> Iterator[Job | JobResult]:
        arena = job.calibration.arena
        which = (_arena_key(arena), job.method)
        trials = self._trials[which]
        trials.append((job, result))
        if len(trials) < len(self._grids[job.method]):
            return
        good = [(trial, found) for trial, found in trials if found.failed is None]
        if good:
            best, _ = min(good, key=lambda one: _rank(one[1]))
            self._chosen[which] = best.options, _summary_of([found for _, found in good])
        else:
            self._chosen[which] = f"every trial failed; the last one: {result.failed}"
        for calibration in self._waiting(arena):
            yield from self._tuned_cell(calibration, job.method)

    def _waiting(self, arena: Arena) -> Iterator[Calibration]:
        """The calibrations that succeeded: their cells may wait for options."""
        for calibration in (Calibration(arena, seed) for seed in arena.seeds):
            if isinstance(self._starts.get(calibration.key), Start):
                yield calibration

    def _tuned_cell(self, calibration: Calibration, method: str) -> Iterator[Job | JobResult]:
        first = Calibration(calibration.arena, calibration.arena.seeds[0])
        chosen = self._chosen.get((_arena_key(calibration.arena), method))
        if isinstance(self._starts.get(first.key), str):
            chosen = f"the first seed, by which its options are chosen, failed: {self._starts[first.key]}"
        if isinstance(chosen, str):
            yield _impossible(calibration, method, chosen)
        elif chosen is not None:
            yield from self._cell(calibration, method, *chosen)

    def _cell(
        self, calibration: Calibration, method: str, options: Mapping[str, float], tuning: Mapping[str, float]
    ) -> Iterator[Job | JobResult]:
        start = self._starts[calibration.key]
        if isinstance(start, str):
            yield _impossible(calibration, method, f"calibration failed: {start}")
        else:
            seconds = calibration.arena.budget.seconds
            yield MethodRun(calibration, start, method, options, seconds, is_trial=False, tuning=tuning)


def _arena_key(arena: Arena) -> str:
    return f"{arena.dataset} {arena.setting.name}"


def _rank(trial: JobResult) -> tuple[bool, float]:
    """The lowest objective among trials that were feasible at some iterate; else the least of the worst residuals."""
    metrics = trial.record["metrics"]
    if "lowest_feasible_objective" in metrics:
        return False, metrics["lowest_feasible_objective"]
    residual = metrics["least_best_residual"]
    return True, residual if math.isfinite(residual) else math.inf


def _summary_of(trials: Sequence[JobResult]) -> dict[str, float]:
    metrics = [trial.record["metrics"] for trial in trials]
    return {
        "trials": float(len(trials)),
        "seconds": sum(one["total_seconds"] for one in metrics),
        "least_infeasibility": min(one["least_infeasibility"] for one in metrics),
        "least_best_residual": min(one["least_best_residual"] for one in metrics),
    }


def _impossible(calibration: Calibration, method: str, reason: str) -> JobResult:
    seconds = calibration.arena.budget.seconds
    run = MethodRun(calibration, Start({}, {}), method, {}, seconds, is_trial=False, tuning={})
    return failed_cell(run, reason)


def failed_cell(job: MethodRun, reason: str, traceback: str = "") -> JobResult:
    """A cell without a result, as it is tracked."""
    tags = {**job.tags, "status": "FAILED", "error": reason[:LONGEST_TAG]}
    if traceback:
        tags["traceback"] = traceback[-LONGEST_TAG:]
    parameters = {"options": dict(job.options), "budget_seconds": job.seconds}
    return JobResult(job.made_with, {"tags": tags, "parameters": parameters, "metrics": {}}, failed=reason)
