"""What a person sees while the cells are run: a bar on a terminal, and a log line per cell."""

import logging
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from idbpd import activity
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.jobs import Calibration, Job
from idbpd.terminal import NARROW, TerminalBar

logger = logging.getLogger(__name__)


class Board(TerminalBar):
    """Counts the cells and says what each has reached."""

    def __init__(self, cells: int) -> None:
        """Prepare a bar of so many cells."""
        columns = (TextColumn("{task.description:24.24}"), BarColumn(NARROW), MofNCompleteColumn())
        super().__init__("the benchmark", cells, *columns, TimeElapsedColumn(), TimeRemainingColumn())
        self._total, self._done = cells, 0
        self._failed: list[str] = []
        self._reused = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take the bar away, and say how many cells were run, taken over and failed."""
        super().__exit__(kind, error, traceback)
        if error is None:
            made = self._done - self._reused - len(self._failed)
            logger.info("%d cells: %d run, %d taken over, %d failed", self._done, made, self._reused, len(self._failed))
            for line in self._failed:
                logger.warning("failed: %s", line)

    def show(self, job: Job, result: JobResult) -> None:
        """One job is done."""
        if isinstance(job, Calibration):
            self.bar.update(self.task, description=f"{job.arena.dataset} {job.arena.setting.name}")
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
        activity.progress(self._done)
        self.bar.update(self.task, completed=self._done, description=_name(result))


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
