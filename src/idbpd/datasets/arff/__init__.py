"""Multi-label ARFF files, dense and sparse, with labels marked as Mulan or MEKA do."""

from idbpd.datasets.arff.dataset import ArffDataset
from idbpd.datasets.arff.reader import read_arff

__all__ = ["ArffDataset", "read_arff"]
