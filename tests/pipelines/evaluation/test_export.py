"""The exported model takes what a table has, and knows what its outputs mean."""

import json

import numpy as np
import pandas as pd
import torch

from idbpd.datasets.table import TaskTable
from idbpd.experiment.export import export
from idbpd.experiment.features import encode, encoded, fit_encoding
from idbpd.experiment.network import build_network
from idbpd.mtl import Meaning, MultiTaskData, Task
from tests.experiment.features.tables import mixed_table
from tests.pipelines.small_tasks import MODEL, PROBLEM, small_tasks


def test_the_exported_model_takes_raw_features() -> None:
    data = small_tasks(2)
    network = build_network(MODEL, data, 0)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    center, scale = torch.arange(4.0), torch.full((4,), 5.0)
    raw = (data.table * scale + center).numpy()
    table = TaskTable(raw, ("a", "b", "c", "d"), np.zeros((40, 2), dtype=np.int8), ("x", "y"), identifiers=("id",))
    encoding = fit_encoding(table, np.arange(40))
    model = export(table, data, encoding, {"center": center, "scale": scale}, weights, MODEL, PROBLEM)
    torch.testing.assert_close(model.features, torch.from_numpy(raw[:2]))
    expected = torch.cat([logits.softmax(dim=-1) for logits in network(data.features[:2])], dim=-1)
    torch.testing.assert_close(model.network(model.features), expected)
    assert [list(row) for row in model.example] == [["a", "b", "c", "d"]] * 2
    np.testing.assert_allclose(encode(pd.DataFrame(list(model.example)), model.encoding).matrix, raw[:2], rtol=1e-6)
    columns = [name for task in model.tasks for name in task.columns]
    assert columns == ["first:first0", "first:first1", "second:second0", "second:second1"]
    assert model.identifiers == ("id",)


def test_the_example_of_columns_of_any_kind_is_what_a_request_may_have() -> None:
    table = mixed_table()
    encoding = fit_encoding(table, np.arange(100))
    features = torch.from_numpy(encoded(table, np.arange(100), encoding))
    tasks = (Task("first", ("a",), torch.arange(100), torch.zeros(100, 1), Meaning("binary", other="b")),)
    data = MultiTaskData(features, tasks)
    weights = {name: parameter.detach() for name, parameter in build_network(MODEL, data, 0).named_parameters()}
    width = features.shape[1]
    scaling = {"center": torch.zeros(width), "scale": torch.ones(width)}
    model = export(table, data, encoding, scaling, weights, MODEL, PROBLEM)
    rows = json.loads(json.dumps(model.example))
    assert set(rows[0]) == {"age", "work", "income", "plan", "joined", "seen"}
    np.testing.assert_allclose(encode(pd.DataFrame(rows), encoding).matrix, model.features.numpy(), rtol=1e-6)
    assert [task.columns for task in model.tasks] == [("first", "first:a")]
