"""Kedro datasets: sources of tables, and files for tensors, tasks and results."""

from idbpd.datasets.arff import ArffDataset
from idbpd.datasets.atomic import AtomicDataset
from idbpd.datasets.composed_digits import ComposedDigitsDataset
from idbpd.datasets.composed_images import ComposedImagesDataset
from idbpd.datasets.feature_file import FeatureFileDataset
from idbpd.datasets.figures import FiguresDataset
from idbpd.datasets.folder import FolderDataset
from idbpd.datasets.idx import IdxDataset
from idbpd.datasets.predictions import PredictionsDataset
from idbpd.datasets.public import PublicDataset
from idbpd.datasets.sources import SourcesDataset
from idbpd.datasets.table_checks import TableValidator
from idbpd.datasets.table_file import TaskTableDataset
from idbpd.datasets.tabular import TabularDataset
from idbpd.datasets.tensors import MultiTaskDataset, TensorsDataset
from idbpd.datasets.typed_json import TypedJsonDataset

__all__ = [
    "ArffDataset",
    "AtomicDataset",
    "ComposedDigitsDataset",
    "ComposedImagesDataset",
    "FeatureFileDataset",
    "FiguresDataset",
    "FolderDataset",
    "IdxDataset",
    "MultiTaskDataset",
    "PredictionsDataset",
    "PublicDataset",
    "SourcesDataset",
    "TableValidator",
    "TabularDataset",
    "TaskTableDataset",
    "TensorsDataset",
    "TypedJsonDataset",
]
