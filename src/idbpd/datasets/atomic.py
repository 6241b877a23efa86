"""Kedro datasets whose file is either complete or absent."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from idbpd.datasets.partial import replacing


class AtomicDataset(AbstractDataset[Any, Any]):
    """Any Kedro dataset of one local file, saved atomically.

    ```yaml
    history:
      type: idbpd.datasets.AtomicDataset
      dataset: {type: pandas.ParquetDataset, filepath: data/07_model_output/history.parquet}
    ```
    """

    def __init__(self, *, dataset: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Wrap the dataset that ``dataset`` configures; it must have a ``filepath``."""
        if "filepath" not in dataset:
            raise ValueError(f"an atomic dataset needs a dataset with a 'filepath', got {dataset}")
        self._config = dataset
        self._path = Path(dataset["filepath"])
        self._at(self._path)  # finds a wrong type or argument before anything runs
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def preview(self) -> Any:
        """The wrapped dataset's own preview for Kedro-Viz; there is none without a file, or if that dataset has none.

        A property, because Kedro-Viz asks whether there is one, and reads its kind from the return type.
        """
        if not self._path.exists():
            raise AttributeError(f"{self._path} does not exist yet")
        wrapped: Any = self._at(self._path)
        return wrapped.preview

    def load(self) -> Any:
        """Load with the wrapped dataset."""
        return self._at(self._path).load()

    def save(self, data: Any) -> None:
        """Save with the wrapped dataset to a temporary file, then rename."""
        with replacing(self._path) as partial:
            self._at(partial).save(data)

    def _at(self, path: Path) -> AbstractDataset[Any, Any]:
        """The wrapped dataset, at this path."""
        return AbstractDataset.from_config(self._path.stem, {**self._config, "filepath": path.as_posix()})

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
