"""A folder that nodes keep files of their own in."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError


class FolderDataset(AbstractDataset[Any, Path]):
    """Gives a node the path of a folder, so that where files are kept stands in the catalog like everything else.

    ``remove_after_success`` are patterns of files that are only there for a run that does not come to its end.
    """

    def __init__(
        self, *, path: str, remove_after_success: list[str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        """Name the folder; it is made when it is first needed."""
        self._path = Path(path)
        self._remove_after_success = remove_after_success or []
        self.metadata = metadata

    def load(self) -> Path:
        """The path."""
        return self._path

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Nothing is saved here as a whole."""
        raise DatasetError(f"{self._path} is a folder that nodes write to; it cannot be the output of a node")

    def run_succeeded(self) -> None:
        """Remove what only an interrupted run needs."""
        for pattern in self._remove_after_success:
            for file in self._path.glob(pattern):
                file.unlink(missing_ok=True)
        if self._remove_after_success:
            with suppress(OSError):  # something is left in it, it was never made, or it is a link or a disk of its own
                self._path.rmdir()

    def _exists(self) -> bool:
        return True  # an empty folder is as good as none

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path)}
