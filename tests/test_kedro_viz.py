"""Kedro-Viz shows the pipelines: every file in its layer, tables and figures as previews."""

import inspect
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch
from kedro.io import MemoryDataset
from kedro_viz.data_access.managers import DataAccessManager
from kedro_viz.integrations.kedro.data_loader import load_data
from kedro_viz.models.flowchart.nodes import DataNode

from idbpd.datasets import AtomicDataset
from tests.kedro_project import PROJECT

pytestmark = pytest.mark.xdist_group("kedro viz")  # one worker loads what the page is made of

# From the top of the picture to its end. The numbers of a run flow this way only, or Kedro-Viz would draw no layers.
LAYERS = ["table", "model input", "limits", "models", "results", "serving"]
STAGES = {"ingestion", "splitting", "weight_decay", "calibration", "training", "evaluation"}


@pytest.fixture(scope="module")
def shown() -> DataAccessManager:
    """What the page is made from, as `kedro viz` loads it."""
    catalog, pipelines, extras = load_data(PROJECT)
    manager = DataAccessManager()
    manager.add_catalog(catalog, pipelines)
    manager.add_node_extras(extras)
    manager.add_pipelines(pipelines)
    return manager


def test_every_persisted_entry_has_a_layer(shown: DataAccessManager) -> None:
    entries = [node for node in shown.nodes.as_list() if isinstance(node, DataNode)]
    persisted = [node for node in entries if not isinstance(node.kedro_obj, MemoryDataset)]
    assert len(persisted) > 60
    missing = [node.name for node in persisted if node.layer not in LAYERS]
    assert not missing, "add to these entries of catalog.yml: metadata: {kedro-viz: {layer: ...}}"


@pytest.mark.parametrize("pipeline", ["__default__", "retrain"])
def test_layers_stand_in_the_order_of_the_story(shown: DataAccessManager, pipeline: str) -> None:
    layers = shown.get_sorted_layers_for_registered_pipeline(pipeline)
    assert layers == LAYERS


def test_a_node_has_its_stage_as_a_tag(shown: DataAccessManager) -> None:
    nodes = shown.get_nodes_for_registered_pipeline("__default__")
    assert {tag for node in nodes if node.type == "task" for tag in node.tags} == STAGES


def _kind_of_preview(dataset: AtomicDataset) -> str:
    """The kind as Kedro-Viz finds it: the annotation is a type or its name."""
    annotation = inspect.signature(dataset.preview).return_annotation
    return getattr(annotation, "__name__", str(annotation))


def test_tables_and_figures_have_previews(tmp_path: Path) -> None:
    table = AtomicDataset(dataset={"type": "pandas.CSVDataset", "filepath": str(tmp_path / "table.csv")})
    assert not hasattr(table, "preview")  # nothing was saved yet
    table.save(pd.DataFrame({"loss": [0.5, 0.25]}))
    assert _kind_of_preview(table) == "TablePreview"
    assert len(table.preview(nrows=1)["data"]) == 1

    figure = AtomicDataset(dataset={"type": "matplotlib.MatplotlibDataset", "filepath": str(tmp_path / "a.png")})
    drawn = plt.figure()
    figure.save(drawn)
    plt.close(drawn)
    assert _kind_of_preview(figure) == "ImagePreview"

    tensors = AtomicDataset(dataset={"type": "idbpd.datasets.TensorsDataset", "filepath": str(tmp_path / "a")})
    tensors.save({"weight": torch.zeros(2)})
    assert not hasattr(tensors, "preview")


def test_rows_of_the_users_table_have_none(shown: DataAccessManager) -> None:
    nodes = {node.name: node for node in shown.nodes.as_list() if isinstance(node, DataNode)}
    assert not nodes["worst_case_study"].is_preview_enabled()
    assert nodes["summary"].is_preview_enabled()
