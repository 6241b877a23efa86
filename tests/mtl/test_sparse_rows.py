"""Tables of mostly zeros that are kept without them, against the same tables with them."""

import pytest
import torch
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.experiment.splitting.fingerprint import parts_sha256
from idbpd.mtl import (
    FixedWeights,
    MultiTaskData,
    RobustMultiTask,
    SparseRows,
    Task,
    measure_quality,
    same_for_all,
    seeded_network,
)
from idbpd.mtl.kinds import Meaning
from idbpd.mtl.layer_moments import LayerMoments
from idbpd.mtl.losses import Logistic
from idbpd.mtl.sharded import deal, shard_of
from idbpd.mtl.worst_cases import Share

SAMPLES, FEATURES = 300, 40
CRITERIA = same_for_all(Logistic(), Share(0.3))


def _table() -> Tensor:
    table = torch.randn(SAMPLES, FEATURES) * (torch.rand(SAMPLES, FEATURES) < 0.05)
    table[7] = 0  # a row without any number, and a column
    table[:, 3] = 0
    return table


def sparse_rows(table: Tensor) -> SparseRows:
    """A dense table without its zeros."""
    numbers = table.nonzero()
    counts = numbers[:, 0].bincount(minlength=len(table))
    begins = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    return SparseRows(begins, numbers[:, 1].int(), table[table != 0], table.shape[1])


def _task(name: str, rows: Tensor) -> Task:
    targets = (torch.rand(len(rows), 2) < 0.4).double()
    return Task(name, ("a", "b"), rows, targets, Meaning("labels"))


def _pair(seen: int = SAMPLES) -> tuple[MultiTaskData, MultiTaskData]:
    """The same data, sparse and dense."""
    table, rows = _table(), torch.randperm(seen)
    tasks = (_task("one", rows[: seen * 3 // 4]), _task("two", rows[seen // 3 :]))
    return MultiTaskData(sparse_rows(table), tasks), MultiTaskData(table.double(), tasks)


def test_parts_have_their_zeros() -> None:
    table = _table()
    sparse = sparse_rows(table)
    picked = torch.tensor([299, 7, 0, 7, 120])
    assert (len(sparse), *sparse.shape, sparse.numel()) == (SAMPLES, SAMPLES, FEATURES, SAMPLES * FEATURES)
    for rows in (slice(0, 10), slice(290, 400), slice(7, 8), slice(0, 0), picked):
        assert torch.equal(sparse[rows], table[rows])
        assert torch.equal(sparse.of_rows(rows)[:], table[rows])


@pytest.mark.parametrize("seen", [SAMPLES, 100], ids=["all rows", "picked rows"])
@pytest.mark.parametrize("block", [30, 1 << 18])
def test_values_and_gradients_are_those_of_the_dense_table(
    seen: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idbpd.mtl.row_blocks.BLOCK", block)
    monkeypatch.setattr("idbpd.mtl.row_blocks.NUMBERS_PER_COLUMN", 0)
    found = []
    for data in _pair(seen):
        network = seeded_network(FEATURES, 5, data.classes, seed=1).double()
        problem = RobustMultiTask(network, data, objective="one", thresholds={"two": 0.5}, criteria=CRITERIA)
        x = nn.utils.parameters_to_vector(network.parameters()).detach()
        evaluation = problem.evaluate(x, problem.start(x))
        gradients = problem.differentiate(evaluation)
        metric, later = problem.initial_metric(x), problem.metric_at(evaluation, torch.ones(1))
        assert metric is not None
        assert later is not None
        mean = FixedWeights(network, data, CRITERIA, {"one": 1.0, "two": 0.5}, 0.0)
        of_mean = mean.differentiate(mean.evaluate(x, mean.start(x))).f
        found.append(
            (evaluation.f, evaluation.g, gradients.f, gradients.g, metric.apply(x[None]), later.apply(x[None]), of_mean)
        )
    torch.testing.assert_close(found[0], found[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("most_paired", [2000, 5])
def test_moments_of_features_are_those_of_the_dense_table(most_paired: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idbpd.mtl.sparse_rows.ROWS_AT_A_TIME", 70)
    monkeypatch.setattr("idbpd.mtl.layer_moments.MOST_PAIRED", most_paired)
    found = []
    for data in _pair():
        network = seeded_network(FEATURES, 5, data.classes, seed=1).double()
        x = nn.utils.parameters_to_vector(network.parameters()).detach()
        found.append(LayerMoments(network, data, data.tasks).of_features(x)[0])
    torch.testing.assert_close(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_measures_and_fingerprints_know_sparse_tables() -> None:
    sparse, dense = _pair()
    network = seeded_network(FEATURES, 5, sparse.classes, seed=1)
    found, expected = (
        measure_quality(network, data.to(torch.device("cpu"), torch.float32), CRITERIA) for data in (sparse, dense)
    )
    for name, quality in expected.items():
        assert found[name].values == pytest.approx(quality.values, rel=1e-5)
    changed = MultiTaskData(sparse_rows(sparse.features[:] + torch.eye(SAMPLES, FEATURES)), sparse.tasks)
    assert parts_sha256(sparse) != parts_sha256(changed)


def test_a_rank_gets_its_rowssparse_rows() -> None:
    sparse, dense = _pair()
    owner = deal(sparse.tasks, SAMPLES, 3)
    for rank in range(3):
        mine = shard_of(sparse, owner, rank).data.features
        assert isinstance(mine, SparseRows)
        assert torch.equal(mine[:].double(), shard_of(dense, owner, rank).data.table)


def test_another_device_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only the CPU computes with a table of mostly zeros"):
        sparse_rows(_table()).to(torch.device("meta"), torch.float32)
