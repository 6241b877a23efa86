"""The benchmark as tasks of a Dask scheduler, whose workers may be on several machines.

Dask brings jobs to workers and results back, and gives the job of a worker that died to another one. It is an extra of
the package (`pip install idbpd[cluster]`): on one machine the processes of `workers.py` need nothing but Python.
"""

import platform
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

import torch

from idbpd.errors import ConfigurationError
from idbpd.experiment.records.provenance import code_sha256, solver_sha256
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.jobs import MEASURING_CODE, Job
from idbpd.pipelines.benchmark.workers import Finished, attempt

PATIENCE = 10  # seconds in which a scheduler must answer


class Installation(NamedTuple):
    """What decides a result beside the job: the same on all workers."""

    torch: str
    solver: str
    measuring: str

    @classmethod
    def here(cls) -> Self:
        """That of this process."""
        return cls(str(torch.__version__), solver_sha256(), code_sha256(parts=MEASURING_CODE))


class Cluster:
    """Runs jobs on the workers of a scheduler, as `Workers` does in processes of its own."""

    def __init__(self, address: str) -> None:
        """Meet the scheduler and look at its workers; a `ConfigurationError` says what is missing."""
        try:
            import distributed  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ConfigurationError(
                "benchmark.scheduler needs Dask, which is not installed: pip install 'idbpd[cluster]'"
            ) from error
        self._dask = distributed
        where = f"benchmark.scheduler = {address!r}"
        try:
            self._client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{where}: no scheduler answers there; start one with `dask scheduler` and give the address that it "
                "prints, such as tcp://first-node:8786"
            ) from error
        threads = self._client.nthreads()
        if not threads or max(threads.values()) > 1:
            self._client.close()
            found = "has no workers" if not threads else f"has a worker with {max(threads.values())} threads"
            raise ConfigurationError(
                f"{where} {found}; each method is timed on one thread: start `dask worker {address} --nthreads 1 "
                "--nworkers CORES` on every machine"
            )
        self._expected = Installation.here()
        self._running: dict[Any, Job] = {}

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take back what has not begun; what a worker is at, it ends, and nobody waits for it."""
        with suppress(Exception):  # the scheduler may be gone, which is no second error
            self._client.cancel(list(self._running))
        self._client.close()

    @property
    def count(self) -> int:
        """How many jobs run at the same time: as many as there are workers now; one that died comes back."""
        return max(1, len(self._client.nthreads()))

    @property
    def free(self) -> bool:
        """Whether another job would start at once."""
        return len(self._running) < self.count

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return bool(self._running)

    def submit(self, job: Job) -> None:
        """Start a job."""
        future = self._client.submit(run_on_worker, job, self._expected, key=f"idbpd-{job.key}", pure=False)
        self._running[future] = job

    def finished(self) -> Iterator[Finished]:
        """Wait for the next jobs to end."""
        with self._client.as_current():
            done, _ = self._dask.wait(list(self._running), return_when="FIRST_COMPLETED")
        for future in done:
            job = self._running.pop(future)
            error = future.exception()
            if error is None:
                yield Finished(job, future.result())
            else:
                yield Finished(job, JobResult(job.made_with, {}, failed=f"its worker was lost, and others: {error}"))


def run_on_worker(job: Job, expected: Installation) -> JobResult:
    """The result of a job, by a worker that has the same code as the run."""
    here = Installation.here()
    if here != expected:
        differs = ", ".join(
            f"{name} {mine[:12]}, not {theirs[:12]}"
            for name, mine, theirs in zip(Installation._fields, here, expected, strict=True)
            if mine != theirs
        )
        return JobResult(
            job.made_with, {}, failed=f"the worker on {platform.node()} has other code than the run: {differs}"
        )
    torch.set_num_threads(1)
    return attempt(job)
