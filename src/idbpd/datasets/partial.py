"""Names of files that are not complete yet. They say who writes them, so that a later run can clean up after a dead
one.

A process that is killed leaves such a file behind. Its name has the number of the process and a digest of the machine's
name. A file of a process that still runs, or of another machine, is never touched.
"""

import hashlib
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_OWNER = re.compile(r"(?:\.partial-)*(?:\.partial|idbpd|ending)-(?P<process>\d+)-(?P<machine>[0-9a-f]{8})-")
# Names of earlier versions have no machine.
_OWNER_WITHOUT_MACHINE = re.compile(r"\.partial-(?P<process>\d+)-")
_SECONDS_WITHOUT_MACHINE = 24 * 3600.0
# The system counts the start of a process in hundredths of a second, and files may have full seconds.
_CLOCK_ERROR = 2.0


def partial_path(path: Path) -> Path:
    """Where to write a file, or a folder, before it gets the name ``path``."""
    return path.with_name(owned_name(".partial", path.name))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it replaces ``path`` if the block succeeds and is removed otherwise.

    A run that is killed while saving must not leave a partial file, because a later run would use it as a result.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_path(path)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def owned_name(prefix: str, name: str) -> str:
    """A name that says which process it belongs to, for something that stands until that process ends."""
    return f"{prefix}-{_owner()}-{name}"


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder among the system's temporary files, for a ``with`` block."""
    return tempfile.TemporaryDirectory(prefix=f"idbpd-{_owner()}-")


def remove_abandoned(folder: Path) -> None:
    """Remove what killed processes of this machine left in a folder; its subfolders are not searched."""
    for path in [*folder.glob(".partial-*"), *folder.glob("idbpd-[0-9]*")]:
        if is_abandoned(path):
            with suppress(OSError):  # somebody else's, or gone meanwhile
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def remove_abandoned_temporary_folders() -> None:
    """Remove what killed processes left among the system's temporary files."""
    remove_abandoned(Path(tempfile.gettempdir()))


def is_abandoned(path: Path) -> bool:
    """Whether the process that wrote a file of such a name was one of this machine, and does not run any more."""
    try:
        changed = path.lstat().st_mtime
    except OSError:
        return False
    if match := _OWNER.match(path.name):
        return match["machine"] == machine() and not _runs(int(match["process"]), changed)
    if match := _OWNER_WITHOUT_MACHINE.match(path.name):
        return time.time() - changed > _SECONDS_WITHOUT_MACHINE and not _runs(int(match["process"]), changed)
    return False


def _runs(process: int, since: float) -> bool:
    """Whether the process of this number runs, and is not a later one that got the same number."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, under another user
    started = _started(process)
    return started is None or started <= since + _CLOCK_ERROR


def _started(process: int) -> float | None:
    """When a process was started, in seconds since 1970; None where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        booted = next(
            line for line in Path("/proc/stat").read_text(encoding="utf-8").splitlines() if line.startswith("btime ")
        )
    except (OSError, StopIteration):
        return None
    return float(booted.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _owner() -> str:
    return f"{os.getpid()}-{machine()}"


@cache
def machine() -> str:
    """A short name for this machine."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
