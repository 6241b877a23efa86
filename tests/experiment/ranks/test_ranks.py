"""Real ranks: two processes under torchrun's agent, some of which are killed."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from idbpd.errors import ConfigurationError, RanksError
from idbpd.experiment.compute_parameters import ComputeParameters, DistributedParameters
from idbpd.experiment.parameters import ProblemParameters
from idbpd.experiment.problem import BuiltProblem, Experiment
from idbpd.experiment.ranks.team import Team, dismiss, team_of
from idbpd.mtl import MultiTaskData
from idbpd.optim import Record, solve
from idbpd.optim.oracle import PreconditionedOracle
from tests.mtl.test_sparse_rows import sparse_rows
from tests.pipelines.small_tasks import EXPERIMENT, small_tasks

TWO = DistributedParameters(processes=2, timeout=5, restarts=10)

# The agent of torch leaves the files open that it gives to processes.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
    pytest.mark.xdist_group("ranks"),  # one worker starts them
]
LIMITS = {"second": 0.9}
AGENT = 30.0  # seconds that torch's agent gives a process to end before it kills it


def _on(distributed: DistributedParameters, dtype: Literal["float32", "float64"] = "float64") -> Experiment:
    return replace(EXPERIMENT, compute=ComputeParameters(device="cpu", dtype=dtype, distributed=distributed))


@pytest.fixture(scope="module")
def data() -> MultiTaskData:
    torch.manual_seed(7)
    return small_tasks(2)


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    yield team_of(TWO)
    dismiss()


def _flat(built: BuiltProblem) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in built.initial_weights.values()])


def _solved(built: BuiltProblem, kill_at: dict[int, int] | None = None, team: Team | None = None) -> bytes:
    """The weights after some steps; ranks are killed on the way, by step."""
    kills = dict(kill_at or {})

    def watch(record: Record) -> None:
        if record.step in kills and team is not None:
            os.kill(team.pids[kills.pop(record.step)], signal.SIGKILL)

    solution = solve(built.oracle, built.initial_weights, max_steps=25, tolerance=1e-12, callback=watch)
    assert not kills
    assert isinstance(solution.x, dict)
    return b"".join(tensor.numpy().tobytes() for tensor in solution.x.values())


def test_a_point_has_the_values_of_one_process(data: MultiTaskData, team: Team) -> None:
    sharded, alone = (one.build(data, "first", LIMITS) for one in (_on(TWO), EXPERIMENT))
    x = _flat(alone)
    found = [built.oracle.evaluate(x, built.oracle.start(x)) for built in (sharded, alone)]
    torch.testing.assert_close(found[0].f, found[1].f, rtol=1e-14, atol=0.0)
    torch.testing.assert_close(found[0].g, found[1].g, rtol=1e-13, atol=1e-15)
    slopes = [built.oracle.differentiate(e).rows for built, e in zip((sharded, alone), found, strict=True)]
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-11, atol=1e-14)


def test_a_sparse_table_has_the_values_of_one_process_with_its_zeros(data: MultiTaskData, team: Team) -> None:
    table = data.table * (torch.rand(data.table.shape) < 0.4)
    built = _on(TWO).build(replace(data, features=sparse_rows(table)), "first", LIMITS)
    alone = EXPERIMENT.build(replace(data, features=table), "first", LIMITS)
    solutions = [solve(one.oracle, one.initial_weights, max_steps=12, tolerance=1e-12) for one in (built, alone)]
    torch.testing.assert_close(solutions[0].history.f, solutions[1].history.f, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("robust", [True, False])
def test_a_weighted_sum_is_that_of_one_process(data: MultiTaskData, team: Team, robust: bool) -> None:
    found = []
    for experiment in (_on(TWO), EXPERIMENT):
        built = experiment.build(data, "first", {})
        built = built.of_weighted_sum(experiment.problem, {"first": 1.0, "second": 0.5}, robust=robust)
        x = _flat(built)
        evaluation = built.oracle.evaluate(x, built.oracle.start(x))
        found.append((evaluation.f, built.oracle.differentiate(evaluation).f))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-14, atol=0.0)
    torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("limits", [LIMITS, None], ids=["limits", "a weighted sum"])
def test_a_solve_takes_the_steps_of_one_process(
    data: MultiTaskData, team: Team, limits: dict[str, float] | None
) -> None:
    """Twelve steps: the metric is that of the features first, and after ten steps that of all layers."""
    found = []
    for experiment in (_on(TWO), EXPERIMENT):
        built = experiment.build(data, "first", limits or {})
        if limits is None:
            built = built.of_weighted_sum(experiment.problem, {"first": 1.0, "second": 0.5}, robust=True)
        assert isinstance(built.oracle, PreconditionedOracle)
        assert built.oracle.initial_metric(_flat(built)) is not None
        found.append(solve(built.oracle, built.initial_weights, max_steps=12, tolerance=1e-12))
    sharded, alone = found
    assert sharded.evaluations == alone.evaluations
    torch.testing.assert_close(sharded.history.f, alone.history.f, rtol=1e-10, atol=0.0)


def test_in_a_ball_the_metric_of_the_start_stays(data: MultiTaskData, team: Team) -> None:
    ball = ProblemParameters.model_validate({"worst_case": {"chi2": {"radius": 0.5}}, "weight_decay": 1e-3})
    for experiment in (_on(TWO), EXPERIMENT):
        oracle = (built := replace(experiment, problem=ball).build(data, "first", LIMITS)).oracle
        x = _flat(built)
        assert isinstance(oracle, PreconditionedOracle)
        assert oracle.initial_metric(x) is not None
        assert oracle.metric_at(oracle.evaluate(x, oracle.start(x)), torch.zeros(1)) is None


def test_killed_ranks_change_no_byte(data: MultiTaskData, team: Team) -> None:
    expected = _solved(_on(TWO, "float32").build(data, "first", LIMITS))
    before = team.generation
    # The first rank speaks with the run, the second does not.
    assert _solved(_on(TWO, "float32").build(data, "first", LIMITS), {5: 1, 12: 0}, team) == expected
    assert team.generation == before + 2


@pytest.mark.slow
def test_a_silent_rank_is_replaced(data: MultiTaskData, team: Team) -> None:
    built = _on(TWO).build(data, "first", LIMITS)
    x = _flat(built)
    expected = built.oracle.evaluate(x, built.oracle.start(x)).f
    os.kill(team.pids[1], signal.SIGSTOP)
    begin = time.monotonic()
    assert torch.equal(built.oracle.evaluate(x.clone(), built.oracle.start(x)).f, expected)
    assert time.monotonic() - begin < TWO.timeout + AGENT + 30


def test_ranks_that_always_die_end_the_run_with_a_line(data: MultiTaskData) -> None:
    once = DistributedParameters(processes=2, timeout=5, restarts=0)
    built = _on(once).build(data, "first", LIMITS)
    x = _flat(built)
    built.oracle.evaluate(x, built.oracle.start(x))
    os.kill(team_of(once).pids[1], signal.SIGKILL)
    with pytest.raises(RanksError, match=r"the ranks were lost 1 times, the last time rank 1: Signal 9 \(SIGKILL\)"):
        built.oracle.evaluate(x.clone(), built.oracle.start(x))


def test_a_node_that_does_not_come_ends_the_run_in_time(data: MultiTaskData) -> None:
    waiting = DistributedParameters(nodes=2, processes=1, endpoint="localhost:29517", timeout=3)
    built = _on(waiting).build(data, "first", LIMITS)
    x, begin = _flat(built), time.monotonic()
    with pytest.raises(RanksError, match=r"the 2 nodes of compute.distributed did not meet at localhost:29517"):
        built.oracle.evaluate(x, built.oracle.start(x))
    assert time.monotonic() - begin < 30


def test_more_ranks_than_samples_are_refused_before_any_starts(data: MultiTaskData) -> None:
    many = DistributedParameters(processes=41)
    threads = threading.active_count()
    with pytest.raises(
        ConfigurationError, match=r"compute.distributed: 41 ranks are more than the 40 samples of the task"
    ):
        _on(many).build(data, "first", LIMITS)
    assert threading.active_count() == threads


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="nccl needs CUDA devices and a torch with NCCL, and this machine has none"):
        DistributedParameters(backend="nccl", processes=2)


def test_several_nodes_need_an_endpoint() -> None:
    with pytest.raises(ValueError, match="several nodes meet at an endpoint"):
        DistributedParameters(nodes=2)
