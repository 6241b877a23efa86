"""From a table to tasks: which labels, which rows, which targets, which scale."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from idbpd.datasets import ComposedDigitsDataset
from idbpd.datasets.table import TaskTable
from idbpd.datasets.tensors import MultiTaskDataset
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.parameters import FeatureParameters, SplitParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.fingerprint import data_sha256
from idbpd.experiment.splitting.table_split import StreamedSplit, TableSplit, split, split_any
from idbpd.experiment.splitting.validation import divided_again
from idbpd.mtl import MultiTaskData, SparseRows


def _digits() -> TaskTable:
    return ComposedDigitsDataset(pairs=200, seed=0).load()


def _table(samples: int = 400, labels: int = 6, **more: Any) -> TaskTable:
    """Labels of very different frequency, the rarest in one sample of fifty, and some samples without any."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(samples, 5)).astype(np.float32)
    frequencies = np.linspace(0.02, 0.5, labels)
    return TaskTable(
        features=features,
        feature_names=tuple("abcde"),
        labels=(generator.random((samples, labels)) < frequencies).astype(np.int8),
        label_names=tuple(f"l{at}" for at in range(labels)),
        **more,
    )


def _split(
    table: TaskTable, *, test_fraction: float = 0.2, seed: int = 0, scaling: Any = "none", **parameters: Any
) -> tuple[MultiTaskData, MultiTaskData]:
    parts = _split_all(table, test_fraction=test_fraction, seed=seed, scaling=scaling, **parameters)
    return parts.train, parts.test


def _split_all(table: TaskTable, *, scaling: Any = "none", **parameters: Any) -> TableSplit:
    given = SplitParameters(**({"test_fraction": 0.2, "seed": 0} | parameters))
    return split(table, Division(given, FeatureParameters(scaling=scaling)))


def test_half_of_the_labels_is_each_task_and_targets_are_distributions() -> None:
    table = _digits()
    train, test = _split(table)
    assert [task.labels for task in train.tasks] == [("0", "1", "2", "3", "4"), ("5", "6", "7", "8", "9")]
    assert [task.name for task in train.tasks] == ["priority", "constraint"]
    assert len(train.features) + len(test.features) == len(table)
    for part in (train, test):
        for task in part.tasks:
            torch.testing.assert_close(task.targets.sum(dim=1), torch.ones(task.size))
            assert task.size < len(part.features)


def test_a_task_keeps_exactly_the_samples_with_one_of_its_labels() -> None:
    table = _digits()
    train, _ = _split(table, test_fraction=0)
    for task, columns in zip(train.tasks, (slice(0, 5), slice(5, 10)), strict=True):
        positives = table.labels[:, columns]
        np.testing.assert_array_equal(task.rows.numpy(), np.flatnonzero(positives.any(axis=1)))
        np.testing.assert_array_equal(task.targets.numpy() > 0, positives[task.rows.numpy()] == 1)


def test_samples_without_a_label_can_be_kept_with_a_zero_target() -> None:
    table = _table()
    train, _ = _split(table, test_fraction=0, unlabelled="keep")
    for task, columns in zip(train.tasks, (slice(0, 3), slice(3, 6)), strict=True):
        assert task.size == len(table)
        expected = table.labels[:, columns].any(axis=1).astype(np.float32)
        np.testing.assert_allclose(task.targets.sum(dim=1).numpy(), expected, rtol=1e-6)


def test_tasks_by_name_and_index_in_the_order_given() -> None:
    train, _ = _split(_table(), tasks={"urgent": ["l5", 0], "other": [3, 2], "third": ["l1", "l4"]})
    assert [(task.name, task.labels) for task in train.tasks] == [
        ("urgent", ("l5", "l0")),
        ("other", ("l3", "l2")),
        ("third", ("l1", "l4")),
    ]
    assert train.priority.name == "urgent"
    assert [task.name for task in train.limited] == ["other", "third"]


def test_on_the_command_line_a_number_is_an_index_unless_a_label_has_that_name() -> None:
    train, _ = _split(_table(), tasks={"a": "l5+0", "b": "3+2"})
    assert [task.labels for task in train.tasks] == [("l5", "l0"), ("l3", "l2")]
    named = replace(_table(), label_names=("5", "4", "3", "2", "1", "0"))
    assert _split(named, tasks={"a": "5+4", "b": "0+1"})[0].tasks[0].labels == ("5", "4")


def test_the_source_can_name_the_tasks_and_the_parameters_go_first() -> None:
    table = _table(tasks={"b": ("l4", "l5"), "a": ("l2", "l3")})
    assert [task.name for task in _split(table)[0].tasks] == ["b", "a"]
    assert [task.name for task in _split(table, tasks={"x": [0, 1], "y": [2, 3]})[0].tasks] == ["x", "y"]


def test_by_position_every_sample_has_one_of_all_classes_in_each_task() -> None:
    table = _digits()
    train, _ = _split(table, test_fraction=0, by="position")
    assert [task.name for task in train.tasks] == ["top_left", "bottom_right"]
    for task in train.tasks:
        assert task.labels == table.label_names
        assert task.size == len(table)
        np.testing.assert_array_equal(task.targets.argmax(dim=1).numpy(), table.positions[task.name])
        assert (task.targets.sum(dim=1) == 1).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tasks": {"a": [0], "b": [6]}}, "task 'b': label 6 is out of range; there are 6 labels, counted from 0"),
        ({"tasks": {"a": [0], "b": ["l9"]}}, "task 'b': there is no label 'l9'; labels are l0, l1, l2, l3, l4, l5"),
        ({"tasks": {"a": "0", "b": "1+6"}}, "task 'b': label 6 is out of range"),
        ({"tasks": {"a": [0], "b": [1, 0]}}, "label 'l0' stands in task 'a' and again in 'b'"),
        ({"tasks": {"a": [0, "l0"], "b": [1]}}, "label 'l0' stands in task 'a' and again in 'a'"),
        ({"tasks": {"a": [0]}}, "there is one task, 'a'; it takes one to improve and at least one more"),
        ({"tasks": {"a": [0], "b": []}}, "task 'b' has no labels"),
        (
            {"tasks": {"a": [0], "b/c": [1]}},
            "task name 'b/c' is not valid: use letters, digits, '_', '-' and blanks between them",
        ),
        ({"tasks": {"a": [0], "replaced": [1]}}, "task name 'replaced' is taken by a column of the answers"),
        ({"by": "position"}, "split.by = 'position', but the table has no positions; only composed images do"),
        ({"by": "position", "tasks": {"a": [0], "b": [1]}}, "split.by = 'position' makes the tasks itself"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        _split(_table(), **parameters)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["Kündigung", "kind of flower", "next-spend", "2nd"])
def test_a_task_may_have_any_name_of_letters(name: str) -> None:
    train, _ = _split(_table(), tasks={name: [0], "b": [1]})
    assert [task.name for task in train.tasks] == [name, "b"]


def test_both_parts_have_the_label_frequencies_of_the_whole() -> None:
    table = _table(samples=2000)
    test = _split_all(table).test
    parts = [_split(table, seed=seed) for seed in (0, 1, 2)]
    for train, test in parts:
        assert len(test.features) == pytest.approx(400, abs=10)
        for task, held_out in zip(train.tasks, test.tasks, strict=True):
            whole = (task.targets > 0).sum(dim=0) + (held_out.targets > 0).sum(dim=0)
            share = (held_out.targets > 0).sum(dim=0) / whole
            torch.testing.assert_close(share, torch.full_like(share, 0.2), atol=0.03, rtol=0)
    assert not torch.equal(parts[0][0].table, parts[1][0].table)
    assert torch.equal(_split(table)[0].table, parts[0][0].table)


def test_no_group_is_on_both_sides_and_the_seed_decides() -> None:
    table = _digits()
    assert table.groups is not None
    parts = {seed: _split(table, seed=seed) for seed in (0, 1)}
    group_of = {
        row.tobytes(): group for row, group in zip(table.dense_features(slice(None)), table.groups, strict=True)
    }
    for train, test in parts.values():
        groups = [{group_of[row.numpy().tobytes()] for row in part.table} for part in (train, test)]
        assert not groups[0] & groups[1]
        assert len(groups[1]) == 2
    again, _ = _split(table)
    assert torch.equal(again.table, parts[0][0].table)
    assert not torch.equal(parts[0][0].table, parts[1][0].table)


def test_groups_are_divided_so_that_a_label_of_few_groups_is_on_both_sides() -> None:
    groups = np.repeat(np.arange(10), 10)
    labels = np.tile([[1, 0, 0, 0], [0, 0, 1, 0]], (50, 1)).astype(np.int8)
    labels[:, 2] |= np.isin(groups, (3, 7))  # only two groups have more than their half of the third label
    labels[::7, 1], labels[::9, 3] = 1, 1
    table = TaskTable(
        np.zeros((100, 1), dtype=np.float32), ("x",), labels, ("p", "p2", "q", "q2"), groups=groups.astype(np.int64)
    )
    for seed in range(5):
        train, test = _split(table, seed=seed)
        shares = [float((part["constraint"].targets[:, 0] > 0).sum() / len(part.features)) for part in (train, test)]
        assert shares == pytest.approx([0.6, 0.6], abs=0.16)


def test_one_group_cannot_be_divided() -> None:
    with pytest.raises(
        DataError, match="all 400 rows are of one group, and a group is not divided, so there is no test"
    ):
        _split(_table(groups=np.zeros(400, dtype=np.int64)))


def test_without_a_test_part_the_training_data_are_measured() -> None:
    train, test = _split(_digits(), test_fraction=0)
    assert torch.equal(train.table, test.table)
    assert len(train.features) == 200


def test_a_task_without_samples_is_an_error() -> None:
    table = _digits()
    without = table.labels.copy()
    without[:, :5] = 0
    table = TaskTable(table.features, table.feature_names, without, table.label_names)
    with pytest.raises(DataError, match=r"no sample of the training part has a target of the priority task \(0, 1, 2"):
        _split(table)


def test_a_task_with_one_class_in_training_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    table = _table(labels=4)
    table.labels[:, 2:] = [1, 0]
    _split(table)
    assert "all training samples of the constraint task have the same target" in caplog.text
    assert "of the priority task have the same label" not in caplog.text


def test_a_part_that_would_be_empty_is_an_error() -> None:
    with pytest.raises(DataError, match=r"cannot split 3 samples with split.test_fraction = 0.9"):
        _split(_table(samples=3), test_fraction=0.9)


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_the_scale_is_that_of_the_training_part_alone(scaling: str) -> None:
    table = _table()
    wide = table.dense_features(slice(None)) * np.array([1, 10, 1e4, 1, 0], dtype=np.float32) + np.float32(3)
    table = TaskTable(wide, table.feature_names, table.labels, table.label_names)
    raw_train, raw_test = _split(table)
    train, test, scale, *_ = _split_all(table, scaling=scaling)
    varying = train.table[:, :4]
    if scaling == "standard":
        torch.testing.assert_close(varying.mean(dim=0), torch.zeros(4), atol=1e-4, rtol=0)
        torch.testing.assert_close(varying.std(dim=0, correction=0), torch.ones(4), atol=1e-4, rtol=0)
    else:
        torch.testing.assert_close(varying.amin(dim=0), torch.zeros(4))
        torch.testing.assert_close(varying.amax(dim=0), torch.ones(4))
    assert (train.table[:, 4] == 0).all()  # a constant feature says nothing
    for part, raw in ((train, raw_train), (test, raw_test)):
        torch.testing.assert_close(part.table, (raw.table - scale["center"]) / scale["scale"])


def test_raw_features_are_left_as_they_are() -> None:
    table = _table()
    train, _, scale, *_ = _split_all(table, test_fraction=0)
    np.testing.assert_array_equal(train.table.numpy(), table.dense_features(slice(None)))
    assert (scale["center"] == 0).all()
    assert (scale["scale"] == 1).all()


def test_a_sparse_table_gives_what_a_dense_one_gives() -> None:
    dense = _table()
    sparse = TaskTable(csr_array(dense.features), dense.feature_names, dense.labels, dense.label_names)
    assert data_sha256(sparse) == data_sha256(dense)
    assert torch.equal(_split(sparse)[0].table, _split(dense)[0].table)


def _sparse_without_room(monkeypatch: pytest.MonkeyPatch) -> tuple[TaskTable, TaskTable]:
    """A sparse table of 8 kB on a machine with less than three times as much, and the same as a dense one."""
    dense = _table()
    filled = np.where(np.random.default_rng(1).random((400, 5)) < 0.1, dense.dense_features(slice(None)), 0)
    dense = replace(dense, features=filled.astype(np.float32))
    monkeypatch.setattr("idbpd.experiment.splitting.dense_room._memory", lambda: 23_999.0)
    return replace(dense, features=csr_array(filled.astype(np.float32))), dense


def test_a_sparse_table_that_is_too_large_with_its_zeros_is_refused_where_they_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sparse, dense = _sparse_without_room(monkeypatch)
    assert _split(dense)  # it is in memory already
    with pytest.raises(
        DataError, match=r"has 400 x 5 features, most of them zero, and only kedro run, tune and .* rare"
    ):
        _split(sparse)


def test_a_sparse_table_that_is_too_large_with_its_zeros_is_written_without_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sparse, dense = _sparse_without_room(monkeypatch)
    division = Division(
        SplitParameters.model_validate({"test_fraction": 0.2, "seed": 0}), FeatureParameters(scaling="maximum")
    )
    made, expected = split_any(sparse, division), split_any(dense, division)
    assert isinstance(expected, TableSplit)
    assert isinstance(made, StreamedSplit)
    for part in ("train", "test"):
        entry = MultiTaskDataset(filepath=str(tmp_path / part))
        entry.save(getattr(made, part))
        found = entry.load()
        assert isinstance(found.features, SparseRows)
        assert torch.equal(found.features[:], getattr(expected, part).table)
        assert torch.equal(found.priority.targets, getattr(expected, part).priority.targets)
    assert made.encoding == expected.encoding
    assert torch.equal(made.scaling["scale"], expected.scaling["scale"])
    again = divided_again(
        sparse,
        made.rows["train"].numpy(),
        0.25,
        division,
        "fraction",
        MultiTaskDataset(filepath=str(tmp_path / "train")).load(),
    )
    assert isinstance(again.fit.features, SparseRows)


def test_a_sparse_table_whose_zeros_would_move_needs_room_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, _ = _sparse_without_room(monkeypatch)
    split_parameters = SplitParameters.model_validate({"test_fraction": 0.2, "seed": 0})
    with pytest.raises(DataError, match=r"features.scaling = standard moves the zeros of the table"):
        split_any(sparse, Division(split_parameters, FeatureParameters(scaling="standard")))
    assert isinstance(sparse.features, csr_array)
    sparse.features.data[3] = np.nan
    with pytest.raises(DataError, match=r"the table has gaps, and does not fit into memory with its zeros"):
        split_any(sparse, Division(split_parameters, FeatureParameters(scaling="maximum")))


def test_the_fingerprint_knows_content_and_split() -> None:
    table = _table()
    first = _split_all(table).fingerprint
    assert first == _split_all(table).fingerprint
    assert all(len(value) == 64 for value in first.values())
    for change in ({"seed": 1}, {"test_fraction": 0.3}, {"unlabelled": "keep"}, {"scaling": "standard"}):
        other = _split_all(table, **change).fingerprint
        assert other["data_sha256"] == first["data_sha256"]
        assert other["split_sha256"] != first["split_sha256"]
    by_name = _split_all(table, tasks={"priority": [1, 0, 2], "constraint": [3, 4, 5]}).fingerprint
    assert by_name["split_sha256"] != first["split_sha256"]
    changed = table.dense_features(slice(None)).copy()
    changed[7, 3] = np.nextafter(changed[7, 3], np.float32(9))
    touched = TaskTable(changed, table.feature_names, table.labels, table.label_names)
    renamed = TaskTable(table.features, tuple("abcdf"), table.labels, table.label_names)
    for other_table in (touched, renamed):
        assert _split_all(other_table).fingerprint["data_sha256"] != first["data_sha256"]


def test_the_rows_of_both_parts_are_kept() -> None:
    table = _table()
    parts = _split_all(table)
    for part, data in (("train", parts.train), ("test", parts.test)):
        np.testing.assert_array_equal(data.table.numpy(), table.dense_features(parts.rows[part].numpy()))
    assert sorted(torch.cat(list(parts.rows.values())).tolist()) == list(range(len(table)))
