"""A job that fails or takes its process with it is a failed job, and the others go on."""

import os
from dataclasses import replace
from typing import Any

from idbpd.pipelines.benchmark.jobs import Calibration
from idbpd.pipelines.benchmark.workers import Finished, Workers
from tests.pipelines.benchmark.test_agenda import ARENA


class EndsTheProcess(str):
    """The folder of an arena that ends the process that reads it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


def _finished(workers: Workers) -> list[Finished]:
    found: list[Finished] = []
    while workers.busy:
        found += workers.finished()
    return found


def test_failures_stay_with_their_jobs() -> None:
    missing = Calibration(ARENA, 0)
    deadly = Calibration(replace(ARENA, folder=EndsTheProcess("x")), 1)
    with Workers(2) as workers:
        assert workers.free
        workers.submit(deadly)
        workers.submit(missing)
        assert not workers.free
        found = {one.job.seed: one.result for one in _finished(workers) if isinstance(one.job, Calibration)}
        assert workers.free
    assert found[1].failed == "its process died (out of memory?)"
    assert found[0].failed is not None
    assert "nowhere" in found[0].failed  # there are no data; the process that was asked survived
    assert "Traceback" in found[0].record["traceback"]
