"""A table of any columns and targets comes back from its file as it was."""

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idbpd.datasets import TaskTableDataset
from idbpd.datasets.table import Column, Target, TaskTable
from idbpd.mtl.kinds import KINDS

names = st.text(min_size=1, max_size=6).filter(lambda name: name.isprintable())
numbers = st.floats(width=64)
options = st.dictionaries(
    names, st.one_of(st.none(), st.booleans(), st.floats(0, 1), names, st.lists(names)), max_size=2
)


@st.composite
def columns(draw: st.DrawFn, rows: int, name: str) -> Column:
    role = draw(st.sampled_from(["number", "category", "date"]))
    written = draw(options)
    if role == "category":
        categories = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
        codes = draw(st.lists(st.integers(-1, len(categories) - 1), min_size=rows, max_size=rows))
        return Column(name, "category", np.array(codes, dtype=np.int32), categories, written)
    values = np.array(draw(st.lists(numbers, min_size=rows, max_size=rows)), dtype=np.float64)
    return Column(name, "date" if role == "date" else "number", values, written=written)


@st.composite
def targets(draw: st.DrawFn, rows: int, task: str) -> Target:
    outputs = tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True)))
    size = rows * len(outputs)
    values = draw(st.lists(st.floats(width=32), min_size=size, max_size=size))
    return Target(
        task,
        draw(st.sampled_from(KINDS)),
        outputs,
        np.array(values, dtype=np.float32).reshape(rows, len(outputs)),
        draw(st.none() | names),
        draw(options),
    )


@st.composite
def tables(draw: st.DrawFn) -> TaskTable:
    rows = draw(st.integers(1, 4))
    feature_names = tuple(draw(st.lists(names, max_size=4, unique=True)))
    return TaskTable(
        features=tuple(draw(columns(rows, name)) for name in feature_names),
        feature_names=feature_names,
        labels=np.zeros((rows, 0), dtype=np.int8),
        label_names=(),
        groups=draw(st.none() | st.just(np.arange(rows))),
        targets=tuple(draw(targets(rows, task)) for task in draw(st.lists(names, max_size=3, unique=True))),
        label_kind=draw(st.sampled_from(["labels", "distribution"])),
        identifiers=tuple(draw(st.lists(names, max_size=2))),
        content=draw(st.sampled_from(["table", "images"])),
        grouping={name: draw(columns(rows, name)) for name in draw(st.lists(names, max_size=2, unique=True))},
    )


def _plain(table: TaskTable) -> dict[str, Any]:
    assert isinstance(table.features, tuple)
    described = [*table.features, *table.grouping.values()]
    kept = ("feature_names", "label_names", "label_kind", "identifiers", "content", "tasks")
    return {
        **{name: getattr(table, name) for name in kept},
        "columns": [(column.name, column.role, column.categories, dict(column.written)) for column in described],
        "targets": [
            (target.task, target.kind, target.outputs, target.other, dict(target.options)) for target in table.targets
        ],
        "groups": None if table.groups is None else table.groups.tolist(),
    }


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_any_mix_of_columns_and_targets_comes_back(tmp_path: Path, table: TaskTable) -> None:
    dataset = TaskTableDataset(filepath=str(tmp_path / "table.safetensors"))
    dataset.save(table)
    loaded = dataset.load()
    assert _plain(loaded) == _plain(table)
    assert isinstance(table.features, tuple)
    assert isinstance(loaded.features, tuple)
    pairs = [
        *zip(table.features, loaded.features, strict=True),
        *zip(table.targets, loaded.targets, strict=True),
        *zip(table.grouping.values(), loaded.grouping.values(), strict=True),
    ]
    for one, other in pairs:
        assert one.values.dtype == other.values.dtype
        np.testing.assert_array_equal(one.values, other.values)
