"""Kedro datasets: sources of tables, and files for tensors, tasks and results."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
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

__getattr__ = names_from(
    __name__,
    {
        "ArffDataset": "arff",
        "AtomicDataset": "atomic",
        "ComposedDigitsDataset": "composed_digits",
        "ComposedImagesDataset": "composed_images",
        "FeatureFileDataset": "feature_file",
        "FiguresDataset": "figures",
        "FolderDataset": "folder",
        "IdxDataset": "idx",
        "MultiTaskDataset": "tensors",
        "PredictionsDataset": "predictions",
        "PublicDataset": "public",
        "SourcesDataset": "sources",
        "TableValidator": "table_checks",
        "TabularDataset": "tabular",
        "TaskTableDataset": "table_file",
        "TensorsDataset": "tensors",
        "TypedJsonDataset": "typed_json",
    },
)
