"""ARFF and IDX files are versioned, and tables kept, like any dataset of Kedro."""

from pathlib import Path

import numpy as np
import pytest
from kedro.io import DataCatalog, DatasetError, Version
from scipy.sparse import csr_array

from idbpd.datasets import ArffDataset, IdxDataset, TaskTableDataset
from idbpd.datasets.table import TaskTable


def _table(value: float, *, sparse: bool = False) -> TaskTable:
    features = np.array([[value, 0], [0, 1.5]], dtype=np.float32)
    return TaskTable(
        features=csr_array(features) if sparse else features,
        feature_names=("x", "y"),
        labels=np.array([[0, 1], [1, 0]], dtype=np.int8),
        label_names=("p", "q"),
    )


def test_a_version_is_saved_beside_the_others_and_can_be_chosen(tmp_path: Path) -> None:
    path = str(tmp_path / "table.arff")
    for name, value in (("2026-01-01", 1.0), ("2026-02-02", 2.0)):
        ArffDataset(filepath=path, version=Version(None, name)).save(_table(value))
    latest = ArffDataset(filepath=path, version=Version(None, None)).load()
    first = ArffDataset(filepath=path, version=Version("2026-01-01", None)).load()
    assert [table.dense_features(slice(None))[0, 0] for table in (latest, first)] == [2.0, 1.0]
    assert not ArffDataset(filepath=path, version=Version("2025-01-01", None)).exists()
    with pytest.raises(DatasetError):
        ArffDataset(filepath=path, version=Version(None, "2026-01-01")).save(_table(3.0))


def test_the_catalog_makes_versions(tmp_path: Path) -> None:
    entry = {"type": "idbpd.datasets.IdxDataset", "filepath": str(tmp_path / "a.idx"), "versioned": True}
    catalog = DataCatalog.from_config({"array": entry})
    assert not catalog.exists("array")
    catalog.save("array", np.arange(3, dtype=np.uint8))
    np.testing.assert_array_equal(catalog.load("array"), [0, 1, 2])
    assert len(list((tmp_path / "a.idx").iterdir())) == 1
    assert IdxDataset(filepath=str(tmp_path / "b.idx")).exists() is False


@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_comes_back_as_it_was(tmp_path: Path, sparse: bool) -> None:
    table = _table(3.0, sparse=sparse)
    full = TaskTable(
        table.features,
        table.feature_names,
        table.labels,
        table.label_names,
        groups=np.array([4, 7]),
        positions={"top_left": np.array([1, 0]), "bottom_right": np.array([0, 1])},
        tasks={"second": ("q",), "first": ("p",)},
    )
    for given in (table, full):
        dataset = TaskTableDataset(filepath=str(tmp_path / "folder" / "table.safetensors"))
        dataset.save(given)
        loaded = dataset.load()
        assert isinstance(loaded.features, csr_array) == sparse
        np.testing.assert_array_equal(loaded.dense_features(slice(None)), given.dense_features(slice(None)))
        np.testing.assert_array_equal(loaded.labels, given.labels)
        assert (loaded.feature_names, loaded.label_names) == (given.feature_names, given.label_names)
        assert loaded.tasks == given.tasks
        assert list(loaded.tasks or ()) == list(given.tasks or ())
        assert list(loaded.positions) == list(given.positions)
        for name, column in given.positions.items():
            np.testing.assert_array_equal(loaded.positions[name], column)
        assert (loaded.groups is None) == (given.groups is None)
