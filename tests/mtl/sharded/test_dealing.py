"""Which rank has which samples."""

import pytest
import torch
from torch import Tensor

from idbpd.mtl import MultiTaskData, Task
from idbpd.mtl.sharded import deal, shard_of


def _task(name: str, rows: Tensor) -> Task:
    return Task(name, (name,), rows, torch.arange(len(rows)).float()[:, None])


def test_sorted_tasks_are_dealt_evenly() -> None:
    tasks = (_task("a", torch.arange(0, 70)), _task("b", torch.arange(60, 100)))
    owner = deal(tasks, 100, 4)
    assert owner.bincount().tolist() == [25] * 4
    for task in tasks:
        counts = owner[task.rows].bincount(minlength=4)
        assert int(counts.max() - counts.min()) <= 2


def test_shards_put_together_are_the_whole() -> None:
    data = MultiTaskData(torch.arange(50.0)[:, None], (_task("a", torch.arange(40)), _task("b", torch.arange(20, 50))))
    owner = deal(data.tasks, 50, 3)
    shards = [shard_of(data, owner, rank) for rank in range(3)]
    assert torch.cat([shard.data.table for shard in shards]).sort(dim=0).values.equal(data.table)
    for at, task in enumerate(data.tasks):
        targets = torch.empty_like(task.targets)
        for shard in shards:
            here = shard.data.tasks[at]
            targets[shard.positions[at]] = here.targets
            assert shard.data.features[here.rows].equal(data.features[task.rows[shard.positions[at]]])
        assert targets.equal(task.targets)


def test_more_ranks_than_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="5 ranks are more than the 3 samples of the task 'b'; choose at most 3"):
        deal((_task("a", torch.arange(9)), _task("b", torch.arange(3))), 9, 5)


def test_a_rank_without_a_sample_of_a_task_is_refused() -> None:
    # Rows in turn: of c alone, of b alone, of b and c, of a. Both samples of c fall to the first rank.
    rows = {"a": [3, 4], "b": [1, 2], "c": [0, 2]}
    tasks = [_task(name, torch.tensor(of_task)) for name, of_task in rows.items()]
    with pytest.raises(
        ValueError, match="rank 1 of 2 would have no sample of the task 'c', which has 2 in all; choose"
    ):
        deal(tasks, 5, 2)
