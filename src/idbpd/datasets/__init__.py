"""Kedro datasets: where tables come from, and how tensors, tasks and results are kept."""

from idbpd.datasets.atomic import AtomicDataset
from idbpd.datasets.composed_digits import ComposedDigitsDataset
from idbpd.datasets.tensors import MultiTaskDataset, TensorsDataset

__all__ = ["AtomicDataset", "ComposedDigitsDataset", "MultiTaskDataset", "TensorsDataset"]
