"""Passes that keep no hidden activations, against those that keep them."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from idbpd.mtl import (
    Criteria,
    Logistic,
    MultiTaskData,
    RobustMultiTask,
    Task,
    same_for_all,
    sample_losses,
    seeded_network,
)
from idbpd.mtl.blocked_passes import BlockedTanhPasses
from idbpd.mtl.kinds import Meaning
from idbpd.mtl.problem import passes_of
from idbpd.mtl.read_ahead import AHEAD, read_ahead
from idbpd.mtl.tanh_passes import TanhPasses
from idbpd.mtl.worst_cases import Share

SAMPLES, FEATURES = 400, 6


def _task(name: str, rows: Tensor, outputs: int) -> Task:
    meaning = Meaning("binary" if outputs == 1 else "labels")
    targets = (torch.rand(len(rows), outputs) < 0.4).double()
    return Task(name, tuple(f"{name}{at}" for at in range(outputs)), rows, targets, meaning)


def _data(seen: int) -> MultiTaskData:
    rows = torch.randperm(seen)
    tasks = (_task("one", rows[: seen * 3 // 4], 1), _task("three", rows[seen // 2 :], 3), _task("two", rows[::2], 2))
    return MultiTaskData(torch.randn(SAMPLES, FEATURES, dtype=torch.float64), tasks)


def _found(network: nn.Module, data: MultiTaskData, share: float) -> tuple[Tensor, ...]:
    problem = RobustMultiTask(
        network, data, objective="one", thresholds={"three": 0.5, "two": 0.7}, criteria=_criteria(share)
    )
    x = nn.utils.parameters_to_vector(network.parameters()).detach()
    evaluation = problem.evaluate(x, problem.start(x))
    gradients = problem.differentiate(evaluation)
    cut = problem.cut_gradient(evaluation, 0, torch.ones(1, data["three"].size).double(), torch.ones(1).double())
    return evaluation.f, evaluation.g, gradients.f, gradients.g, cut


def _criteria(share: float) -> Criteria:
    return same_for_all(Logistic(), Share(share))


@pytest.mark.parametrize("seen", [SAMPLES, 150], ids=["all rows", "picked rows"])
@pytest.mark.parametrize("share", [0.02, 0.8, 1.0])
def test_values_and_gradients_are_those_with_kept_activations(
    share: float, seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = _data(seen)
    network = seeded_network(FEATURES, 5, data.classes, seed=1).double()
    expected = _found(network, data, share)
    monkeypatch.setattr("idbpd.mtl.problem.MOST_ACTIVATIONS", 0)
    monkeypatch.setattr("idbpd.mtl.row_blocks.BLOCK", 70 * FEATURES)  # the last block is a short one
    torch.testing.assert_close(_found(network, data, share), expected, rtol=1e-12, atol=1e-14)


def test_activations_are_kept_while_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data(SAMPLES)
    network = seeded_network(FEATURES, 5, data.classes, seed=1).double()
    monkeypatch.setattr("idbpd.mtl.problem.MOST_ACTIVATIONS", SAMPLES * 5)
    assert isinstance(passes_of(network, data, data.tasks), TanhPasses)
    monkeypatch.setattr("idbpd.mtl.problem.MOST_ACTIVATIONS", SAMPLES * 5 - 1)
    assert isinstance(passes_of(network, data, data.tasks), BlockedTanhPasses)


def test_all_of_a_mapped_file_is_announced_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    width = 1 << 16
    path = tmp_path / "features"
    rows = 3 * AHEAD // (4 * width) + 5
    path.write_bytes(b"\0" * (rows * width * 4))
    table = torch.from_file(str(path), size=rows * width).view(rows, width)
    announced: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "idbpd.mtl.read_ahead.advise", lambda at, length: announced.append((at - table.data_ptr(), length))
    )
    for begin in range(0, rows, 7):
        read_ahead(table, begin * width * 4, min(begin + 7, rows) * width * 4)
        assert min(begin + 7, rows) * width * 4 <= sum(length for _, length in announced)
    places = [0, *(at + length for at, length in announced)]
    assert [at for at, _ in announced] == places[:-1]  # without a hole, and nothing twice
    assert places[-1] == table.nbytes


def test_memory_that_is_no_file_may_be_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idbpd.mtl.read_ahead.AHEAD", 64)
    table = torch.randn(1000, 3)
    for begin in range(0, 1000, 10):
        read_ahead(table, begin * 12, (begin + 10) * 12)
    assert table.isfinite().all()


def test_features_that_are_many_are_converted_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data(SAMPLES).to(torch.device("cpu"), torch.float32)
    network = seeded_network(FEATURES, 5, data.classes, seed=1).double()
    converted = data.to(torch.device("cpu"), torch.float64)
    monkeypatch.setattr("idbpd.mtl.data.MOST_CONVERTED", 0)
    kept = data.to(torch.device("cpu"), torch.float64)
    assert kept.features is data.features
    assert kept["one"].targets.dtype is torch.float64
    torch.testing.assert_close(_found(network, kept, 0.8), _found(network, converted, 0.8), rtol=0, atol=0)
    one, other = (sample_losses(network, part, _criteria(0.8)) for part in (kept, converted))
    for task, losses in one.items():
        assert torch.equal(losses, other[task])
