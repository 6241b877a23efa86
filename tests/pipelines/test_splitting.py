import numpy as np
import pandas as pd
import pytest
import torch

from idbpd.datasets import ComposedDigitsDataset
from idbpd.datasets.table import feature_columns
from idbpd.errors import DataError
from idbpd.pipelines.ingestion.nodes import ingest
from idbpd.pipelines.parameters import SplitParameters
from idbpd.pipelines.splitting.nodes import split


def _table() -> pd.DataFrame:
    return ComposedDigitsDataset(pairs=200, seed=0).load()


def test_half_of_the_labels_is_each_task_and_targets_are_distributions() -> None:
    table = _table()
    train, test = split(table, SplitParameters(test_fraction=0.2, seed=0))
    assert [task.labels for task in train.tasks] == [("0", "1", "2", "3", "4"), ("5", "6", "7", "8", "9")]
    assert len(train.features) + len(test.features) == len(table)
    for part in (train, test):
        for task in part.tasks:
            torch.testing.assert_close(task.targets.sum(dim=1), torch.ones(task.size))
            assert task.size < len(part.features)


def test_a_task_keeps_exactly_the_samples_with_one_of_its_labels() -> None:
    table = _table()
    train, _ = split(table, SplitParameters(test_fraction=0, seed=0))
    for task in train.tasks:
        positives = table[[f"label:{label}" for label in task.labels]].to_numpy()
        np.testing.assert_array_equal(task.rows.numpy(), np.flatnonzero(positives.any(axis=1)))
        np.testing.assert_array_equal(task.targets.numpy() > 0, positives[task.rows.numpy()] == 1)


def test_no_group_is_on_both_sides_and_the_seed_decides() -> None:
    table = _table()
    parts = {seed: split(table, SplitParameters(test_fraction=0.2, seed=seed)) for seed in (0, 1)}
    group_of = {
        row.tobytes(): group
        for row, group in zip(table[feature_columns(table)].to_numpy(dtype=np.float32), table["group"], strict=True)
    }
    for train, test in parts.values():
        groups = [{group_of[row.numpy().tobytes()] for row in part.features} for part in (train, test)]
        assert not groups[0] & groups[1]
        assert len(groups[1]) == 2
    again, _ = split(table, SplitParameters(test_fraction=0.2, seed=0))
    assert torch.equal(again.features, parts[0][0].features)
    assert not torch.equal(parts[0][0].features, parts[1][0].features)


def test_without_a_test_part_the_training_data_are_measured() -> None:
    train, test = split(_table(), SplitParameters(test_fraction=0, seed=0))
    assert torch.equal(train.features, test.features)


def test_a_task_without_samples_is_an_error() -> None:
    table = _table()
    table = table[table[[f"label:{digit}" for digit in range(5)]].sum(axis=1) == 0]
    with pytest.raises(DataError, match=r"no sample of the training part has a label of the priority task"):
        split(table, SplitParameters(test_fraction=0.2, seed=0))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("pixel_0_0", float("nan"), "feature 'pixel_0_0' is not finite in row 3: nan"),
        ("label:4", 2, "label '4' must be 0 in some rows and 1 in others; it has: 0, 1, 2"),
    ],
)
def test_a_table_that_cannot_be_trained_on_is_refused(column: str, value: float, message: str) -> None:
    table = _table()
    table.loc[3, column] = value
    with pytest.raises(DataError, match=message):
        ingest(table)


def test_a_constant_label_is_refused() -> None:
    table = _table()
    table["label:7"] = np.int8(0)
    with pytest.raises(DataError, match="label '7' must be 0 in some rows and 1 in others; it has: 0"):
        ingest(table)


def test_a_table_without_labels_is_refused() -> None:
    table = _table()
    with pytest.raises(DataError, match="100 features and 0 labels"):
        ingest(table[feature_columns(table)])
