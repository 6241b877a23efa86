"""A folder in the catalog, and the object that keeps files in it."""

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError
from kedro.utils import load_obj


class FolderDataset(AbstractDataset[Any, Any]):
    """Gives a node the object that keeps files in a folder: the catalog says where they are, the object what they mean.

    ```yaml
    calibration_cache:
      type: idbpd.datasets.FolderDataset
      path: data/06_models/calibration
      kind: idbpd.experiment.records.content_store.ContentStore
      options: {what: calibration, kept: 16}
    ```

    Without a ``kind`` the node gets the path.
    """

    def __init__(
        self,
        *,
        path: str,
        kind: str = "pathlib.Path",
        options: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Name the folder, which is made when it is first needed, and the class, which is called with its path."""
        self._path = Path(path)
        self._kind = load_obj(kind)
        self._options = options or {}
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """Where the folder is."""
        return self._path

    def load(self) -> Any:
        """The object that keeps the files."""
        return self._kind(self._path, **self._options)

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Refuse: files are written one by one, by the loaded object."""
        raise DatasetError(f"{self._path} is a folder that nodes write to; it cannot be the output of a node")

    def _exists(self) -> bool:
        return True  # an empty folder is as good as none

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path), "kind": self._kind.__name__}
