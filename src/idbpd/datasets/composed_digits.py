"""The embedded data set: pairs of scikit-learn's bundled handwritten digits. Nothing is downloaded."""

from typing import Any, NoReturn

import numpy as np
from kedro.io import AbstractDataset, DatasetError
from sklearn.datasets import load_digits

from idbpd.datasets.composition import compose_pairs
from idbpd.datasets.table import TaskTable

BRIGHTEST = 16


class ComposedDigitsDataset(AbstractDataset[Any, TaskTable]):
    """Multi-digits: pairs of the 1797 bundled 8x8 digits on a 10x10 canvas, pixels scaled to [0, 1].

    The canvas keeps Multi-MNIST's proportions: 28 pixels on 36 there, 8 on 10 here.
    """

    def __init__(
        self, *, pairs: int, seed: int, groups: int = 10, offset: int = 2, metadata: dict[str, Any] | None = None
    ) -> None:
        """Set the number of pairs and the seed."""
        self._recipe: dict[str, Any] = {"pairs": pairs, "seed": seed, "groups": groups, "offset": offset}
        self.metadata = metadata

    def load(self) -> TaskTable:
        """Compose the table; the same arguments give the same table on every machine."""
        bundled = load_digits()
        return compose_pairs(
            np.asarray(bundled.images), np.asarray(bundled.target), brightest=BRIGHTEST, **self._recipe
        )

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Not supported: the digits are part of scikit-learn."""
        raise DatasetError("the bundled digits are read-only")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return dict(self._recipe)
