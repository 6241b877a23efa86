"""The SQLite file of a local store: made whole or not at all.

MLflow makes its tables in many small transactions. A process that is killed meanwhile would leave half a schema, with
which no later run can work. So the file is made beside its place and then gets its name in one step.
"""

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from sqlalchemy import event
from sqlalchemy.engine import Engine

from idbpd.datasets.partial import partial_path, remove_abandoned

logger = logging.getLogger(__name__)

# SQLite keeps these next to a database. Without their database they are worth nothing, and harm a new one.
COMPANIONS = ("-journal", "-wal", "-shm")
# Another program (mlflow ui) may be making the file right now, in its place. It writes many times in a second.
QUIET_SECONDS = 10.0
BUSY_SECONDS = 20.0


def make_whole(path: Path, artifacts: str) -> None:
    """Make the database of a store, unless there is one; an incomplete one is set aside first."""
    with _only_one(path.parent):
        remove_abandoned(path.parent)
        if path.exists() and is_half_made(path):
            _wait_for_others(path)
            if path.exists() and is_half_made(path):
                _set_aside(path)
        if not path.exists():
            _make(path, artifacts)


def is_half_made(path: Path) -> bool:
    """Whether MLflow was interrupted while it made this database.

    The last thing that it makes is its first experiment. A database without any has nothing that could be lost. A file
    that is no database is not half-made: MLflow says what is wrong with it.
    """
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        return "experiments" not in tables or database.execute("SELECT 1 FROM experiments").fetchone() is None
    return False


def _wait_for_others(path: Path) -> None:
    """Wait until the database is whole, or nobody has written to it for a while."""
    while path.exists() and is_half_made(path):
        rest = QUIET_SECONDS - (time.time() - path.stat().st_mtime)
        if rest <= 0:
            return
        time.sleep(min(rest, 0.5))


def _set_aside(path: Path) -> None:
    """Rename a half-made database. It was opened before, so SQLite has already put an open transaction back."""
    aside = path.with_name(f"{path.name}.half-made-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
    path.rename(aside)
    logger.warning(
        "the tracking store %s was not made to its end (its process was killed) and has no runs; "
        "it is set aside as %s, and a new one is made",
        path,
        aside.name,
    )


def _make(path: Path, artifacts: str) -> None:
    partial = partial_path(path)
    try:
        with _without_waiting_for_the_disk():
            store = SqlAlchemyStore(f"sqlite:///{partial}", artifacts)  # type: ignore[no-untyped-call]
            store.engine.dispose()  # no connection stays open to a file that changes its name
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        for end in COMPANIONS:
            path.with_name(path.name + end).unlink(missing_ok=True)
        try:
            os.link(partial, path)  # unlike a rename, it never replaces a file that somebody has just made
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            partial.rename(path)
    finally:
        for end in ("", *COMPANIONS):
            partial.with_name(partial.name + end).unlink(missing_ok=True)


@contextmanager
def _without_waiting_for_the_disk() -> Iterator[None]:
    """Do not wait for the disk after each of MLflow's 160 transactions: the whole file is synced at the end."""

    def relax(connection: Any, record: Any) -> None:  # noqa: ARG001 - SQLAlchemy's form
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time make a database in a folder; the lock is on the folder, so that no file stays."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks; making it beside is safe without one
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
