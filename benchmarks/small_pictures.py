"""Multi-MNIST and Multi-Fashion with pictures of 14 x 14: the same pairs, each square of four pixels as its mean."""

import os
from pathlib import Path

import numpy as np

from idbpd.datasets.composition import compose_pairs
from idbpd.datasets.idx import IdxDataset
from idbpd.datasets.table import TaskTable

PUBLISHED = Path(os.environ.get("IDBPD_DATA", "data/01_raw"))


def small_pairs(folder: str, pairs: int) -> TaskTable:
    """Pairs on a canvas of 18 x 18, in ten groups that share no picture."""
    images, classes = (
        IdxDataset(filepath=str(PUBLISHED / folder / f"train-{what}-ubyte.gz")).load()
        for what in ("images-idx3", "labels-idx1")
    )
    count, height, width = images.shape
    means = images.reshape(count, height // 2, 2, width // 2, 2).mean(axis=(2, 4), dtype=np.float32)
    return compose_pairs(means, classes, brightest=255, pairs=pairs, offset=4, groups=10, seed=0)
