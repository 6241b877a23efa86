"""A table that stays in its file, from the file to a registered model, and a retraining when it has grown."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from idbpd.datasets.tensors import MultiTaskDataset
from idbpd.mtl import SparseRows
from tests.kedro_project import KedroProject

pytestmark = [pytest.mark.xdist_group("stored table"), pytest.mark.slow]
ROWS = 600
PARAMETERS: dict[str, Any] = {
    "model": {"hidden": 6},
    "problem": {"worst_case": "mean"},
    "weight_decay_search": {"grid": [1e-3, 1e-2], "max_steps": 10},
    "calibration": {"slack": 9.0, "max_steps": 20, "reserve_steps": 5},
    "training": {"max_steps": 20},
    "comparison": {"sweep": [0.5], "max_steps": 5},
    "retrain": {"residual_limit": 1.0e3, "train_tolerance": 1.0e3, "accept_not_shown": True},
}


def _write(path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.normal(0, 1, (2, ROWS))
    town = draw.choice(["north", "south"], ROWS)
    frame = pd.DataFrame({"x": np.where(draw.random(ROWS) < 0.1, np.nan, x), "y": y, "town": town})
    frame["buys"] = x + draw.normal(0, 0.5, ROWS) > 0
    frame["spend"] = 10 * y + np.where(town == "north", 5, 0) + draw.normal(0, 1, ROWS)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, row_group_size=100)


def test_a_table_that_is_not_loaded_is_trained_on_registered_and_retrained_when_it_grows(
    tracked_project: KedroProject, tmp_path: Path
) -> None:
    project = tracked_project
    files = [str(tmp_path / f"{at}.parquet") for at in (1, 2)]
    block = {"type": "idbpd.datasets.TabularDataset", "filepath": files[:1], "in_memory": 0}
    project.configure("parameters.yml", PARAMETERS)
    tasks = {"tasks": {"buys": "buys", "spend": "spend"}}
    project.configure("sources.yml", {"large": {**block, **tasks}})
    _write(Path(files[0]), 0)
    output = project.kedro("run", "--pipeline", "retrain", params="dataset=large")
    assert "the table is larger than memory: it stays in its file" in output
    reports = project.data / "08_reporting" / "large"
    assert (reports / "report.html").exists()
    assert json.loads((reports / "retraining.json").read_text())["outcome"] == "promoted"
    assert "unchanged" in project.kedro("run", "--pipeline", "retrain", params="dataset=large")
    _write(Path(files[1]), 1)
    project.configure("sources.yml", {"large": {**block, **tasks, "filepath": files}})
    grown = project.kedro("run", "--pipeline", "retrain", params="dataset=large")
    assert "changed since version 1: data" in grown
    digests = json.loads((project.data / "02_intermediate" / "large" / "row_groups.json").read_text())
    assert [len(digests[file]["row_groups"]) for file in files] == [6, 6]


def test_a_table_of_mostly_zeros_is_trained_on_without_them(tracked_project: KedroProject, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    words = np.where(draw.random((ROWS, 60)) < 0.05, draw.integers(1, 9, (ROWS, 60)), 0)
    frame = pd.DataFrame(words, columns=[f"w{at}" for at in range(60)])
    frame = frame.assign(buys=words[:, :5].sum(axis=1) > 1, spend=words[:, 5:9].sum(axis=1) + draw.normal(0, 1, ROWS))
    frame.to_parquet(tmp_path / "words.parquet")
    block = {"type": "idbpd.datasets.TabularDataset", "filepath": str(tmp_path / "words.parquet"), "in_memory": 0}
    tracked_project.configure("parameters.yml", PARAMETERS)
    tracked_project.configure("sources.yml", {"words": {**block, "tasks": {"buys": "buys", "spend": "spend"}}})
    output = tracked_project.kedro("run", params="dataset=words")
    assert "HOLDS: spend keeps its limit" in output
    train = MultiTaskDataset(filepath=str(tracked_project.data / "05_model_input" / "words" / "train.safetensors"))
    assert isinstance(train.load().features, SparseRows)
