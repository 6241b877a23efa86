"""What a person sees while the cells are run: a bar on a terminal, and a log line per cell."""

import logging
import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from idbpd.experiment.benchmark_results import JobResult
from idbpd.pipelines.benchmark.jobs import Calibration, Job

logger = logging.getLogger(__name__)


class Board:
    """Counts the cells and says what each has reached."""

    def __init__(self, cells: int) -> None:
        """Prepare a bar of so many cells."""
        self._total, self._done = cells, 0
        self._failed: list[str] = []
        self._reused = 0
        self._bar = Progress(
            TextColumn("{task.description:24.24}"),
            BarColumn(bar_width=15),  # the whole line fits into 80 columns
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task("", total=cells)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away, and say how many cells were run, taken over and failed."""
        self._bar.stop()
        if error is None:
            made = self._done - self._reused - len(self._failed)
            logger.info("%d cells: %d run, %d taken over, %d failed", self._done, made, self._reused, len(self._failed))
            for line in self._failed:
                logger.warning("failed: %s", line)

    def show(self, job: Job, result: JobResult) -> None:
        """One job is done."""
        if isinstance(job, Calibration):
            self._bar.update(self._task, description=f"{job.arena.dataset} {job.arena.setting.name}")
            if result.failed is not None:
                logger.warning("calibration of %s, seed %d: %s", job.arena.dataset, job.seed, result.failed)
        elif not job.is_trial:
            self._count(result)
            if result.failed is None and not result.reused:
                logger.info("%d/%d %s: %s", self._done, self._total, _name(result), _reached(result))

    def lost(self, result: JobResult) -> None:
        """A cell that cannot be run."""
        self._count(result)

    def _count(self, result: JobResult) -> None:
        self._done += 1
        self._reused += result.reused
        if result.failed is not None:
            self._failed.append(f"{_name(result)}: {result.failed}")
        self._bar.update(self._task, completed=self._done, description=_name(result))


def _name(result: JobResult) -> str:
    tags = result.record["tags"]
    return f"{tags['dataset']} {tags['setting']} {tags['method']} seed {tags['seed']}"


def _reached(result: JobResult) -> str:
    metrics = result.record["metrics"]
    objective = metrics.get("lowest_feasible_objective")
    feasible = "never feasible" if objective is None else f"objective {objective:.4f}"
    return (
        f"{result.record['tags']['status']}, {feasible}, worst residual {metrics['least_best_residual']:.1e}, "
        f"{metrics['total_steps']:.0f} steps in {metrics['total_seconds']:.1f} s"
    )
