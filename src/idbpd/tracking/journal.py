"""The journal: everything to be tracked is written to disk before it is sent.

Every entry is a folder. A rename makes it complete, and it is removed when the store has it. If the store or this
process fails, every entry is either still in the journal or already in the store.
"""

import fcntl
import itertools
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from idbpd.datasets.partial import partial_path, replacing
from idbpd.redaction import redacted

ENTRY = "entry.json"
HEADER = "execution.json"
RUNS = "runs.json"
REJECTED = "rejected"
# Kinds of entries whose content is redacted. The others contain file names, which must not change.
REDACTED = {"params", "tags", "input"}
_ALIVE, _SENDING, _ENDED = "alive", "sending", "ended"
_number = itertools.count()


@dataclass(frozen=True)
class Entry:
    """One thing to track: its run, its kind and its content."""

    folder: Path
    run: dict[str, Any]
    kind: str
    content: dict[str, Any]


class Journal:
    """The unsent entries of one execution."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in this folder."""
        self.folder = folder
        self._alive: IO[str] | None = None

    @classmethod
    def begin(cls, folder: Path, header: Mapping[str, Any]) -> "Journal":
        """Create a journal and hold its lock until `close`, so that others see that the execution is alive.

        It gets its name when it is complete: a folder without a header is what a killed process left.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = partial_path(folder)
        partial.mkdir()
        alive = (partial / _ALIVE).open("w")
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_json(partial / HEADER, header)
        partial.rename(folder)
        journal = cls(folder)
        journal._alive = alive
        return journal

    @property
    def header(self) -> dict[str, Any]:
        """The store, the experiment and the parent run of the execution."""
        return _read(self.folder / HEADER)

    def append(self, run: Mapping[str, Any], kind: str, content: Mapping[str, Any], files: Sequence[Path] = ()) -> None:
        """Add an entry with a copy of its files, without credentials."""
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_number)}"
        partial = self.folder / f".partial-{name}"
        partial.mkdir()
        for file in files:
            if file.is_dir():
                shutil.copytree(file, partial / file.name, copy_function=_link_or_copy)
            else:
                _link_or_copy(str(file), str(partial / file.name))
        safe = redacted(content) if kind in REDACTED else content
        entry = {"run": _safe_run(run), "kind": kind, "content": safe}
        (partial / ENTRY).write_text(json.dumps(entry), encoding="utf-8")
        partial.rename(self.folder / name)

    def end(self, run: Mapping[str, Any], status: str) -> None:
        """Add the final status of the execution."""
        self.append(run, "end", {"status": status, "time": int(time.time() * 1000)})
        (self.folder / _ENDED).touch()

    @property
    def ended(self) -> bool:
        """Whether the final status of the execution is known, sent or not."""
        return (self.folder / _ENDED).exists() or any(entry.kind == "end" for entry in self.entries())

    def entries(self) -> Iterator[Entry]:
        """The unsent entries, oldest first."""
        for folder in sorted(path.parent for path in self.folder.glob(f"[0-9]*/{ENTRY}")):
            entry = _read(folder / ENTRY)
            yield Entry(folder, entry["run"], entry["kind"], entry["content"])

    def remove(self, entry: Entry) -> None:
        """Delete a sent entry. It is renamed first, so that a partly deleted folder never looks like an entry."""
        gone = entry.folder.rename(self.folder / f".partial-{entry.folder.name}")
        shutil.rmtree(gone)

    def reject(self, entry: Entry, reason: str) -> None:
        """Move an entry that the store refused to the folder of rejected entries, with the reason."""
        (entry.folder / "reason.txt").write_text(redacted(reason) + "\n", encoding="utf-8")
        (self.folder / REJECTED).mkdir(exist_ok=True)
        entry.folder.rename(self.folder / REJECTED / entry.folder.name)

    @property
    def runs(self) -> dict[str, str]:
        """The store's ids of the runs created so far, by key."""
        path = self.folder / RUNS
        return _read(path) if path.exists() else {}

    @property
    def keys(self) -> set[str]:
        """The keys of all runs that the execution has logged something to, sent or not."""
        return {*self.runs, *(entry.run["key"] for entry in self.entries())}

    def add_run(self, key: str, run_id: str) -> None:
        """Store the id of a run."""
        write_json(self.folder / RUNS, {**self.runs, key: run_id})

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Hold the lock for sending: one sender at a time, among all threads, processes and later commands."""
        with (self.folder / _SENDING).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def alive(self) -> bool:
        """Whether the execution is still running; the system releases its lock when the process ends."""
        with suppress(FileNotFoundError), (self.folder / _ALIVE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def close(self) -> None:
        """Release the lock, and delete the journal if everything was sent."""
        if next(self.entries(), None) is None and not (self.folder / REJECTED).exists():
            remove_journal(self.folder)
        self.release()

    def discard(self) -> None:
        """Delete the journal of an execution that was refused before anything of it was sent."""
        remove_journal(self.folder)
        self.release()

    def release(self) -> None:
        """Release the lock: from now on the execution looks ended."""
        if self._alive is not None:
            self._alive.close()
            self._alive = None


def _safe_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run without credentials; its key stays, by which it is found again."""
    return {name: redacted(value) if name in {"tags", "parameters"} else value for name, value in run.items()}


def remove_journal(folder: Path) -> None:
    """Remove the folder of a journal. It is renamed first, so that a partly deleted one never looks like a journal."""
    gone = partial_path(folder)
    with suppress(OSError):  # another process has just removed it
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()  # succeeds only if this was the last journal


def _link_or_copy(source: str, target: str) -> None:
    """Keep the present content of a file. A link is enough: results are replaced, never overwritten in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file of a journal, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content), encoding="utf-8")
