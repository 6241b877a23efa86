"""What is to be tracked, on disk before it is sent.

Every entry is a folder of its own, made whole by a rename and removed once the store has it. Whatever happens to the
store or to this process, an entry is either still here or there.
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

from idbpd.datasets.atomic import replacing
from idbpd.tracking.redaction import redacted

ENTRY = "entry.json"
HEADER = "execution.json"
RUNS = "runs.json"
REJECTED = "rejected"
# The kinds of entries whose content is text that somebody gave; in the others names of files must stay what they are.
TEXTS = {"params", "tags", "input"}
_ALIVE, _SENDING, _ENDED = "alive", "sending", "ended"
_number = itertools.count()


@dataclass(frozen=True)
class Entry:
    """One thing to track: the run it belongs to, what kind of thing it is, and its content."""

    folder: Path
    run: dict[str, Any]
    kind: str
    content: dict[str, Any]


class Journal:
    """The entries of one execution that the store does not have yet."""

    def __init__(self, folder: Path) -> None:
        """Take the journal in this folder."""
        self.folder = folder
        self._alive: IO[str] | None = None

    @classmethod
    def begin(cls, folder: Path, header: Mapping[str, Any]) -> "Journal":
        """Make a journal; until `close`, others see that its execution is alive."""
        folder.mkdir(parents=True)
        journal = cls(folder)
        journal._alive = (folder / _ALIVE).open("w")
        fcntl.flock(journal._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write(folder / HEADER, header)
        return journal

    @property
    def header(self) -> dict[str, Any]:
        """Where the entries are to be sent."""
        return _read(self.folder / HEADER)

    def append(self, run: Mapping[str, Any], kind: str, content: Mapping[str, Any], files: Sequence[Path] = ()) -> None:
        """Keep an entry, with the files and folders it needs as they are now; no credential gets in."""
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_number)}"
        partial = self.folder / f".partial-{name}"
        partial.mkdir()
        for file in files:
            if file.is_dir():
                shutil.copytree(file, partial / file.name, copy_function=_link_or_copy)
            else:
                _link_or_copy(str(file), str(partial / file.name))
        told = redacted(content) if kind in TEXTS else content
        entry = {"run": {**run, "tags": redacted(run["tags"])}, "kind": kind, "content": told}
        (partial / ENTRY).write_text(json.dumps(entry), encoding="utf-8")
        partial.rename(self.folder / name)

    def end(self, run: Mapping[str, Any], status: str) -> None:
        """Keep how the execution ended."""
        self.append(run, "end", {"status": status, "time": int(time.time() * 1000)})
        (self.folder / _ENDED).touch()

    @property
    def ended(self) -> bool:
        """Whether the execution said how it ended, be it sent already or not."""
        return (self.folder / _ENDED).exists() or any(entry.kind == "end" for entry in self.entries())

    def entries(self) -> Iterator[Entry]:
        """What is to be sent, in the order in which it came."""
        for folder in sorted(path.parent for path in self.folder.glob(f"[0-9]*/{ENTRY}")):
            entry = _read(folder / ENTRY)
            yield Entry(folder, entry["run"], entry["kind"], entry["content"])

    def remove(self, entry: Entry) -> None:
        """Forget an entry that the store has. Renamed first: half an entry must never look like one."""
        gone = entry.folder.rename(self.folder / f".partial-{entry.folder.name}")
        shutil.rmtree(gone)

    def reject(self, entry: Entry, reason: str) -> None:
        """Put an entry aside that the store will never take, with the reason."""
        (entry.folder / "reason.txt").write_text(redacted(reason) + "\n", encoding="utf-8")
        (self.folder / REJECTED).mkdir(exist_ok=True)
        entry.folder.rename(self.folder / REJECTED / entry.folder.name)

    @property
    def runs(self) -> dict[str, str]:
        """The store's ids of the runs that are known to be there, by key."""
        path = self.folder / RUNS
        return _read(path) if path.exists() else {}

    def add_run(self, key: str, run_id: str) -> None:
        """Remember the store's id of a run."""
        _write(self.folder / RUNS, {**self.runs, key: run_id})

    @contextmanager
    def sending(self) -> Iterator[None]:
        """One sender at a time, among the threads and processes of an execution and later commands."""
        with (self.folder / _SENDING).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def alive(self) -> bool:
        """Whether the execution still goes on; the system lets go of a lock when its process ends, however it ends."""
        with suppress(FileNotFoundError), (self.folder / _ALIVE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def close(self) -> None:
        """The execution has ended; nothing that was sent is kept."""
        if next(self.entries(), None) is None and not (self.folder / REJECTED).exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):
                self.folder.parent.rmdir()  # the last one
        if self._alive is not None:
            self._alive.close()
            self._alive = None


def _link_or_copy(source: str, target: str) -> None:
    """The file as it is now, without copying where it can be done: results are replaced, never written over."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as partial:
        partial.write_text(json.dumps(content), encoding="utf-8")
