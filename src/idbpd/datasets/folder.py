"""A folder in which nodes keep their own files."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError


class FolderDataset(AbstractDataset[Any, Path]):
    """Gives a node the path of a folder, so that the catalog lists this folder like any other storage.

    Files that match ``remove_after_success`` are deleted when a run succeeds; only an interrupted run needs them.
    """

    def __init__(
        self, *, path: str, remove_after_success: list[str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        """Set the folder; it is created when first needed."""
        self._path = Path(path)
        self._remove_after_success = remove_after_success or []
        self.metadata = metadata

    def load(self) -> Path:
        """The path."""
        return self._path

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Not supported: nodes write single files."""
        raise DatasetError(f"{self._path} is a folder that nodes write to; it cannot be the output of a node")

    def run_succeeded(self) -> None:
        """Delete the files that only an interrupted run needs."""
        for pattern in self._remove_after_success:
            for file in self._path.glob(pattern):
                file.unlink(missing_ok=True)
        if self._remove_after_success:
            with suppress(OSError):  # not empty, never created, a link, or a mount point
                self._path.rmdir()

    def _exists(self) -> bool:
        return True  # a missing folder counts as an empty one

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path)}
