"""ARFF, dense and sparse, with the labels of a multi-label data set as Mulan and MEKA mark them."""

from idbpd.datasets.arff.dataset import ArffDataset
from idbpd.datasets.arff.reader import read_arff

__all__ = ["ArffDataset", "read_arff"]
