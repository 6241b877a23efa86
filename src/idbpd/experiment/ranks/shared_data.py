"""The tables of a run on disk, for its ranks to take their samples from."""

import hashlib
from pathlib import Path

from safetensors import SafetensorError

from idbpd.datasets.task_file import save_tasks
from idbpd.errors import ConfigurationError
from idbpd.mtl import MultiTaskData

KEPT = 3  # tables on disk: a search goes back and forth between few


def file_sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def not_writable(folder: Path, error: Exception) -> ConfigurationError:
    """A full disk, or a folder that is missing or of somebody else."""
    reason = getattr(error, "strerror", None) or str(error)
    return ConfigurationError(
        f"the data for the ranks cannot be written to {folder}: {reason}; make room there, or let "
        "compute.distributed.folder name another folder"
    )


class SharedData:
    """The tables in one folder."""

    def __init__(self, folder: Path) -> None:
        """Nothing is there yet."""
        self._folder = folder
        self._written: list[Path] = []  # the last one last
        self._latest: tuple[MultiTaskData, Path] | None = None  # the same object has the same content

    def put(self, data: MultiTaskData) -> tuple[Path, str]:
        """The file with these data, and its SHA-256, which is also its name."""
        if self._latest is None or self._latest[0] is not data:
            new = self._folder / "new.safetensors"
            try:
                save_tasks(data, new)
            except (OSError, SafetensorError) as error:
                new.unlink(missing_ok=True)
                raise not_writable(self._folder, error) from error
            path = new.rename(self._folder / f"{file_sha256(new)}.safetensors")
            self._written = [*(one for one in self._written if one != path), path]
            for old in self._written[:-KEPT]:
                old.unlink(missing_ok=True)
            self._written = self._written[-KEPT:]
            self._latest = data, path
        path = self._latest[1]
        return path, path.stem
