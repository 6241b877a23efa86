"""Multi-MNIST and similar data sets: pairs of images, composed on load."""

from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from idbpd.datasets.composition import compose_pairs
from idbpd.datasets.idx import IdxDataset
from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError

BRIGHTEST = 255


class ComposedImagesDataset(AbstractDataset[Any, TaskTable]):
    """Pairs of images from one IDX file, with their classes from another; `compose_pairs` describes a pair.

    ```yaml
    multi_mnist:
      type: idbpd.datasets.ComposedImagesDataset
      images: {filepath: data/01_raw/mnist/train-images-idx3-ubyte.gz}
      classes: {filepath: data/01_raw/mnist/train-labels-idx1-ubyte.gz}
      pairs: 20000
      offset: 8 # 28 x 28 images on a canvas of 36 x 36
      groups: 10
      seed: 0
    ```
    """

    def __init__(
        self,
        *,
        images: dict[str, Any],
        classes: dict[str, Any],
        pairs: int,
        offset: int,
        groups: int,
        seed: int,
        class_names: list[str] | None = None,
        credentials: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the two files (arguments of `IdxDataset`), the number of pairs, the seed, and credentials of both."""
        self._images = IdxDataset(**{"credentials": credentials, **images})
        self._classes = IdxDataset(**{"credentials": credentials, **classes})
        self._recipe: dict[str, Any] = {"pairs": pairs, "offset": offset, "groups": groups, "seed": seed}
        self._class_names = class_names
        self.metadata = metadata

    def load(self) -> TaskTable:
        """Compose the table; the same files and arguments give the same table on every machine."""
        images, classes = self._images.load(), self._classes.load()
        if images.ndim != 3 or images.dtype != "uint8" or classes.shape != images.shape[:1]:
            raise DataError(
                f"{self._images.path} has {images.dtype} values of shape {images.shape} and {self._classes.path} has "
                f"shape {classes.shape}; expected bytes of shape (images, height, width) and a class for each image"
            )
        return compose_pairs(images, classes, brightest=BRIGHTEST, class_names=self._class_names, **self._recipe)

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Not supported: the images are source files."""
        raise DatasetError("composed images are read-only")

    def _exists(self) -> bool:
        return self._images.exists() and self._classes.exists()

    def _describe(self) -> dict[str, Any]:
        return {"images": self._images.path, "classes": self._classes.path, **self._recipe}
