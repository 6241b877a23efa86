"""The workers of a Dask scheduler, where Dask is installed; it is an extra."""

from importlib.util import find_spec

import pytest

from idbpd.errors import ConfigurationError
from idbpd.pipelines.benchmark.cluster import Cluster, Installation, run_on_worker
from idbpd.pipelines.benchmark.jobs import Calibration
from idbpd.pipelines.benchmark.workers import Finished
from tests.pipelines.benchmark.test_agenda import ARENA

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")


@pytest.mark.skipif(find_spec("distributed") is not None, reason="Dask is installed")
def test_without_dask_a_line_says_how_to_get_it() -> None:
    with pytest.raises(ConfigurationError, match=r"needs Dask, which is not installed: pip install 'idbpd\[cluster\]'"):
        Cluster("tcp://first-node:8786")


def test_a_worker_with_other_code_refuses() -> None:
    other = Installation.here()._replace(solver="f" * 64)
    result = run_on_worker(Calibration(ARENA, 0), other)
    assert result.failed is not None
    assert "has other code than the run: solver" in result.failed
    assert "not ffffffffffff" in result.failed


@needs_dask
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://"])
def test_a_scheduler_that_does_not_answer_is_a_line(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idbpd.pipelines.benchmark.cluster.PATIENCE", 1)
    with pytest.raises(ConfigurationError, match="no scheduler answers there"):
        Cluster(address)


@needs_dask
def test_failures_stay_with_their_jobs() -> None:
    import distributed  # noqa: PLC0415 - an extra

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local,
        Cluster(local.scheduler_address) as workers,
    ):
        assert workers.free
        workers.submit(Calibration(ARENA, 0))
        assert not workers.free
        assert workers.busy
        found: list[Finished] = []
        while workers.busy:
            found += workers.finished()
        (only,) = found
    assert only.result.failed is not None
    assert "nowhere" in only.result.failed  # there are no data


@needs_dask
def test_workers_with_several_threads_are_refused() -> None:
    import distributed  # noqa: PLC0415 - an extra

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as local,
        pytest.raises(ConfigurationError, match="has a worker with 2 threads; each method is timed on one"),
    ):
        Cluster(local.scheduler_address)
