"""Worker processes of one thread each. A process that dies does not end the benchmark."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from types import TracebackType
from typing import NamedTuple, Self

import torch

from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.jobs import Job
from idbpd.pipelines.benchmark.worker import execute

_SPAWN = multiprocessing.get_context("spawn")  # a forked torch may hang in its threads


class Finished(NamedTuple):
    """A job and its result; ``failed`` is set in a result that could not be made."""

    job: Job
    result: JobResult


class Workers:
    """Runs jobs in ``count`` processes. A process that dies costs the job that it worked on, not the others."""

    def __init__(self, count: int) -> None:
        """No process is started before the first job."""
        self._count = count
        self._pool = self._new_pool()
        self._running: dict[Future[JobResult], Job] = {}
        self._suspects: deque[Job] = deque()  # one of them killed its process: each is tried again alone

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, in the middle of a job if need be."""
        self._stop()

    @property
    def count(self) -> int:
        """How many jobs run at the same time."""
        return self._count

    @property
    def free(self) -> bool:
        """Whether another job would start at once."""
        return not self._suspects and len(self._running) < self._count

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return bool(self._running or self._suspects)

    def submit(self, job: Job) -> None:
        """Start a job."""
        self._running[self._pool.submit(attempt, job)] = job

    def finished(self) -> Iterator[Finished]:
        """Wait for the next jobs to end."""
        alone = not self._running and bool(self._suspects)
        if alone:
            self.submit(self._suspects.popleft())
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        broken = [future for future in done if isinstance(future.exception(), BrokenProcessPool)]
        for future in done.difference(broken):
            yield Finished(self._running.pop(future), future.result())
        if broken:
            lost = list(self._running.values())
            self._stop()
            self._pool, self._running = self._new_pool(), {}
            if alone:
                yield Finished(lost[0], JobResult(lost[0].made_with, {}, failed="its process died (out of memory?)"))
            else:
                self._suspects.extend(lost)

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._count, _SPAWN, initializer=_prepare)

    def _stop(self) -> None:
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _prepare() -> None:
    """One thread; ignore Ctrl-C, which the parent handles; end with the parent."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # this runs in a child only
    threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def attempt(job: Job) -> JobResult:
    """The result, or why there is none: an exception is turned into a failed result."""
    try:
        return execute(job)
    except Exception as error:
        return JobResult(
            job.made_with, {"traceback": traceback.format_exc()}, failed=f"{type(error).__name__}: {error}"
        )
