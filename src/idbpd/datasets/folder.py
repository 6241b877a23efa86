"""A folder's own path, for what works with folders."""

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError


class FolderDataset(AbstractDataset[NoReturn, Path]):
    """Loads where a folder of the project is; the catalog alone knows where the project is."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        """Name the folder."""
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder."""
        return self._folder

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        raise DatasetError("a folder is not saved")

    def _exists(self) -> bool:
        return self._folder.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}
