"""Parquet tables that stay in their files, against the same tables in memory."""

import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from kedro.io import DatasetError

from idbpd.datasets import AtomicDataset, TabularDataset
from idbpd.datasets.stored.parquet_rows import ParquetRows
from idbpd.datasets.table import StoredFeatures, TaskTable
from idbpd.datasets.table_file import TaskTableDataset
from idbpd.datasets.tensor_stream import StreamedData
from idbpd.datasets.tensors import MultiTaskDataset
from idbpd.errors import DataError
from idbpd.experiment.features import encoded, fit_encoding
from idbpd.experiment.features.stored import encode_columns, fit_stored
from idbpd.experiment.parameters import FeatureParameters, SplitParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.fingerprint import data_sha256
from idbpd.experiment.splitting.row_marks import are_seen, seen_rows
from idbpd.experiment.splitting.row_split import drawn_rows
from idbpd.experiment.splitting.stored_split import divided
from idbpd.experiment.splitting.table_split import split, split_any
from idbpd.mtl import SparseRows, fit_scaling

ROWS, GROUP = 700, 150
TASKS = {"buys": "buys", "plan": "plan"}
DIVISION = Division(
    SplitParameters.model_validate(
        {"by": "label", "tasks": None, "kind": None, "unlabelled": "drop", "test_fraction": 0.2, "seed": 0}
    ),
    FeatureParameters.model_validate({"scaling": "auto"}),
)


def _frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    number = draw.normal(50, 20, rows)
    number[draw.random(rows) < 0.1] = np.nan
    town = np.where(draw.random(rows) < 0.002, "rare", draw.choice(["north ", "south", "east"], rows)).astype(object)
    town[draw.random(rows) < 0.05] = None
    day = pd.Timestamp("2025-01-01") + pd.to_timedelta(draw.integers(0, 9000, rows), unit="h")
    return pd.DataFrame(
        {
            "customer_id": np.arange(rows),
            "number": number,
            "count": draw.integers(0, 9, rows),
            "same": np.ones(rows),
            "town": town,
            "member": draw.random(rows) < 0.5,
            "day": day.to_series().where(draw.random(rows) > 0.03).to_numpy(),
            "buys": (np.nan_to_num(number) + draw.normal(0, 20, rows)) > 50,
            "plan": draw.choice(["a", "b", "c"], rows),
        }
    )


def _write(path: Path, frame: pd.DataFrame) -> str:
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=GROUP)
    return str(path)


def _load(files: str | list[str], in_memory: float = 0, **block: Any) -> TaskTable:
    return TabularDataset(filepath=files, tasks=TASKS, in_memory=in_memory, **block).load()


@pytest.fixture
def file(tmp_path: Path) -> str:
    return _write(tmp_path / "table.parquet", _frame())


def test_columns_have_the_roles_that_they_have_in_memory(file: str) -> None:
    stored, table = _load(file), _load(file, 1e9)
    assert isinstance(stored.features, StoredFeatures)
    assert isinstance(table.features, tuple)
    assert stored.features.roles() == [(column.name, column.role) for column in table.features]
    assert stored.identifiers == table.identifiers == ("customer_id",)
    for one, other in zip(stored.targets, table.targets, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    rows = np.array([699, 3, 160, 3])
    pd.testing.assert_frame_equal(stored.frame(rows), table.frame(rows))


@pytest.mark.parametrize("at_a_time", [70, 1000, 1 << 22])  # less than a row group, or more
def test_encoding_and_scaling_are_those_of_the_table_in_memory(
    file: str, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idbpd.datasets.stored.parquet_rows.NUMBERS_AT_A_TIME", at_a_time)
    stored, table = _load(file), _load(file, 1e9)
    assert isinstance(stored.features, StoredFeatures)
    rows = np.arange(0, ROWS, 3)
    encoding, scaling = fit_stored(stored.features, rows, "standard")
    assert encoding == fit_encoding(table, rows)
    expected = encoded(table, rows, encoding)
    found = []
    for begin, columns in stored.features.blocks():
        here = (rows >= begin) & (rows < begin + len(columns[0].values))
        found.append(encode_columns(columns, rows[here] - begin, encoding))
    np.testing.assert_array_equal(np.concatenate(found), expected)
    of_table = fit_scaling(torch.from_numpy(expected), "standard")
    torch.testing.assert_close(scaling.center, of_table.center, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(scaling.scale, of_table.scale, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kinds", [2, 60, 150])
def test_rare_values_are_those_of_scikit_learn(tmp_path: Path, kinds: int) -> None:
    draw = np.random.default_rng(kinds)
    town = np.array([f"t{at}" for at in (kinds * draw.random(3000) ** 3).astype(int)], dtype=object)
    frame = pd.DataFrame({"town": town, "x": draw.random(3000), "buys": draw.random(3000) < 0.5, "plan": town})
    frame["plan"] = draw.choice(["a", "b"], 3000)
    file = _write(tmp_path / "t.parquet", frame)
    rows, features = np.arange(2500), _load(file).features
    assert isinstance(features, StoredFeatures)
    assert fit_stored(features, rows, "none")[0] == fit_encoding(_load(file, 1e9), rows)


def test_the_split_writes_features_that_training_maps_into_memory(file: str, tmp_path: Path) -> None:
    table = _load(file)
    made = split_any(table, DIVISION)
    assert isinstance(made.train, StreamedData)
    entry = MultiTaskDataset(filepath=str(tmp_path / "train.safetensors"))
    entry.save(made.train)
    train, rows = entry.load(), made.rows["train"].numpy()
    raw = torch.from_numpy(encoded(_load(file, 1e9), rows, made.encoding))
    expected = (raw - made.scaling["center"]) / made.scaling["scale"]
    torch.testing.assert_close(train.features, expected, rtol=0, atol=0)
    assert [task.name for task in train.tasks] == ["buys", "plan"]
    torch.testing.assert_close(train["plan"].targets, torch.from_numpy(table.targets[1].values[rows]))
    fit, validation = divided(train, table, rows, 0.25, 0)
    assert fit.features is train.features
    assert sorted([*fit["buys"].rows.tolist(), *validation["buys"].rows.tolist()]) == train["buys"].rows.tolist()
    assert 0.15 < validation["buys"].size / train["buys"].size < 0.35


def test_a_row_stays_in_its_part_when_the_table_grows() -> None:
    before, after = drawn_rows(np.arange(50_000), 0.2, 3), drawn_rows(np.arange(80_000), 0.2, 3)
    assert (after[:50_000] == before).all()
    assert abs(after.mean() - 0.2) < 0.01
    assert not np.array_equal(before, drawn_rows(np.arange(50_000), 0.2, 4))


def test_the_stored_table_is_found_again_unless_its_file_has_changed(file: str, tmp_path: Path) -> None:
    entry, table = TaskTableDataset(filepath=str(tmp_path / "table.safetensors")), _load(file)
    entry.save(table)
    again = entry.load()
    assert data_sha256(again) == data_sha256(table)
    assert (tmp_path / "table.safetensors").stat().st_size < Path(file).stat().st_size  # features are not in it
    _write(Path(file), _frame(ROWS + 10))
    with pytest.raises(DatasetError, match="has changed since the table was made of it; make it again: kedro run"):
        entry.load()


def test_only_new_files_are_read_for_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, store = _write(tmp_path / "a.parquet", _frame()), tmp_path / "kept" / "row_groups.json"
    before = data_sha256(_load(first, digests=str(store)))
    second = _write(tmp_path / "b.parquet", _frame(seed=1))
    read: list[str] = []

    def digest(name: str, span: tuple[int, int]) -> str:
        read.append(name)
        return str(span)

    monkeypatch.setattr("idbpd.datasets.stored.parquet_rows.span_sha256", digest)
    assert data_sha256(_load([first, second], digests=str(store))) != before
    assert set(read) == {second}
    assert len(read) == -(-ROWS // GROUP)
    data_sha256(_load([first, second], digests=str(store)))
    assert len(read) == -(-ROWS // GROUP)


def test_a_changed_value_changes_the_fingerprint(file: str, tmp_path: Path) -> None:
    frame = _frame()
    frame["number"] += np.where(np.arange(ROWS) == 5, 1e-9, 0.0)
    assert data_sha256(_load(_write(tmp_path / "other.parquet", frame))) != data_sha256(_load(file))


def test_marks_of_seen_rows_are_those_of_the_table_in_memory(file: str) -> None:
    stored, table, rows = _load(file), _load(file, 1e9), np.arange(0, ROWS, 2)
    marks = seen_rows(stored, rows)
    for name, tensor in seen_rows(table, rows).items():
        assert torch.equal(marks[name], tensor)
    found = are_seen(stored, np.arange(ROWS), marks)
    assert found is not None
    assert found[::2].all()


def test_wrong_files_are_refused_in_one_line(file: str, tmp_path: Path) -> None:
    content = Path(file).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(DatasetError, match=r"cut\.parquet: not a Parquet file, or a damaged one: "):
        _load(str(cut))
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content[:4] + os.urandom(len(content) // 2) + content[4 + len(content) // 2 :])
    with pytest.raises(DatasetError, match=r"damaged\.parquet.*: a damaged Parquet file: "):
        _load(str(damaged))
    other = _write(tmp_path / "other.parquet", _frame().astype({"count": "float64"}))
    with pytest.raises(
        DatasetError, match=r"column 'count' is double in .*other\.parquet and int64 in .*table\.parquet"
    ):
        _load([file, other])
    fewer = _write(tmp_path / "fewer.parquet", _frame().drop(columns="town"))
    with pytest.raises(DatasetError, match=r"different columns: town in one of them only"):
        _load([file, fewer])


def test_values_that_a_network_cannot_take_are_refused(tmp_path: Path) -> None:
    frame = _frame()
    frame.loc[321, "number"] = np.inf
    with pytest.raises(DatasetError, match=r"row 322: feature 'number' is infinite; numbers must be finite"):
        _load(_write(tmp_path / "infinite.parquet", frame))


def test_texts_that_should_be_numbers_are_refused(file: str) -> None:
    with pytest.raises(DatasetError, match=r"column 'town' holds texts; in a table that is larger than memory"):
        _load(file, numeric=["town"])


def test_what_cannot_work_with_a_stored_table_says_so(file: str) -> None:
    with pytest.raises(DataError, match="is larger than memory; kedro run, tune and retrain can work with it"):
        split(_load(file), DIVISION)


@pytest.mark.parametrize("at_a_time", [7, 1 << 22])
def test_rows_are_found_by_their_numbers(tmp_path: Path, at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idbpd.datasets.stored.parquet_rows.NUMBERS_AT_A_TIME", at_a_time)
    files = [_write(tmp_path / f"{at}.parquet", _frame(100 * at, at)) for at in (2, 3)]
    rows = ParquetRows(files)
    assert len(rows) == 500
    wanted = np.array([450, 0, 199, 200, 10])
    expected = pd.concat([_frame(200, 2), _frame(300, 3)])["count"].to_numpy()[wanted]
    assert rows.some(np.array([450, 0, 450]), ["count"]).column(0).to_pylist() == expected[[0, 1, 0]].tolist()
    assert rows.some(wanted, ["count"]).column(0).to_pylist() == expected.tolist()
    assert rows.some(np.array([], dtype=np.intp), ["count"]).num_rows == 0


def test_a_full_disk_leaves_nothing_behind(file: str, tmp_path: Path) -> None:
    made, folder = split_any(_load(file), DIVISION), tmp_path / "05_model_input"
    block = {"type": "idbpd.datasets.MultiTaskDataset", "filepath": str(folder / "train.safetensors")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(DatasetError, match="File too large"):
            AtomicDataset(dataset=block).save(made.train)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(folder.iterdir()) == []


def _wide(rows: int = 500, columns: int = 40) -> pd.DataFrame:
    """Counts of words, most of them zero, with a few gaps, and a category."""
    draw = np.random.default_rng(1)
    counts = np.where(draw.random((rows, columns)) < 0.03, draw.integers(1, 9, (rows, columns)), 0).astype(float)
    counts[draw.random(counts.shape) < 0.001] = np.nan
    frame = pd.DataFrame(counts, columns=[f"w{at}" for at in range(columns)])
    frame["town"] = draw.choice(["north", "south"], rows)
    return frame.assign(buys=draw.random(rows) < 0.4, plan=draw.choice(["a", "b"], rows))


def test_a_table_of_mostly_zeros_is_written_without_them(tmp_path: Path) -> None:
    file = _write(tmp_path / "wide.parquet", _wide())
    table, entry = _load(file), MultiTaskDataset(filepath=str(tmp_path / "train.safetensors"))
    made = split_any(table, DIVISION)
    assert isinstance(made.train, StreamedData)
    entry.save(made.train)
    train, rows = entry.load(), made.rows["train"].numpy()
    assert isinstance(train.features, SparseRows)
    raw = torch.from_numpy(encoded(_load(file, 1e9), rows, made.encoding))
    expected = fit_scaling(raw, "maximum")(raw)
    assert train.features.shape == expected.shape
    torch.testing.assert_close(train.features[:], expected, rtol=0, atol=0)
    assert len(train.features.values) == expected.count_nonzero()
    assert (tmp_path / "train.safetensors").stat().st_size < 4 * expected.numel()
    again = MultiTaskDataset(filepath=str(tmp_path / "again.safetensors"))
    again.save(train)  # as a run does for its ranks
    assert torch.equal(again.load().features[:], expected)
    fit, _ = divided(train, table, rows, 0.25, 0)
    assert fit.features is train.features
    kept = TaskTableDataset(filepath=str(tmp_path / "table.safetensors"))
    kept.save(table)
    features = kept.load().features
    assert isinstance(features, StoredFeatures)
    assert features.is_sparse


def test_a_scaling_that_moves_zeros_fills_the_table(tmp_path: Path) -> None:
    table = _load(_write(tmp_path / "wide.parquet", _wide()))
    standard = replace(DIVISION, features=FeatureParameters.model_validate({"scaling": "standard"}))
    made = split_any(table, standard)
    assert isinstance(made.train, StreamedData)
    assert not made.train.features.is_sparse
