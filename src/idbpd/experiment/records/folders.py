"""Folders for results: are they writable, and does another run write there?"""

import fcntl
import tempfile
from io import TextIOWrapper
from pathlib import Path

from idbpd.errors import ConfigurationError


def require_writable(folder: Path) -> None:
    """Raise a `ConfigurationError` unless files can be made in ``folder``, or in the folder it will be made in."""
    existing = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot write results to {folder}: {existing}: {error.strerror}") from error


class FolderLock:
    """One writer at a time. The system lets go of the lock when its process ends, however it ends."""

    def __init__(self, path: Path, what: str) -> None:
        """Name the lock's file and, for the message, what it guards."""
        self._path = path
        self._what = what
        self._file: TextIOWrapper | None = None

    def acquire(self) -> None:
        """Take the lock, or raise a `ConfigurationError` when another run has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise ConfigurationError(
                f"another run on {self._what} is going on here; wait for it, or use another copy of the project"
            ) from error
        self._file = file

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None
