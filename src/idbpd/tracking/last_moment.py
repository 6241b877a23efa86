"""Close the run of a process that was killed while it ended: all results are saved, but its command failed.

Whoever called the command sees a kill and starts it again, which makes the same child run once more. Then the first one
gets the status KILLED, as its caller saw it, so that only one of them is among the finished runs. A note on disk tells
the two cases apart: the last act of a process removes it (`process_end`).
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from idbpd.datasets.partial import is_abandoned, owned_name, replacing
from idbpd.process_end import at_the_very_end
from idbpd.tracking.journal import Journal

DAY = 24 * 3600.0
REPEATED_BY = "repeated_by"  # tag of a run: the execution that made its results again


def leave_note(folder: Path, journal: Journal) -> None:
    """Leave a note about a complete execution that stands until the process has ended by itself."""
    path = folder / owned_name("ending", f"{journal.folder.name}.json")
    runs = [{"key": key, "name": key, "tags": {}, "started": 0} for key in journal.runs]
    with replacing(path) as partial:
        partial.write_text(json.dumps({"command": _digest(journal), "runs": runs}), encoding="utf-8")
    at_the_very_end(lambda: path.unlink(missing_ok=True))


def close_repeated(folder: Path, journal: Journal) -> None:
    """Close the runs of processes that were killed at their end, if this execution repeats them."""
    for path in sorted(folder.glob("ending-*.json")):
        if not is_abandoned(path):
            continue
        note = json.loads(path.read_text(encoding="utf-8"))
        if note["command"] == _digest(journal):
            for run in note["runs"]:
                journal.append(run, "tags", {REPEATED_BY: journal.folder.name})
                journal.append(run, "close", {"status": "KILLED", "time": int(time.time() * 1000)})
        elif time.time() - path.stat().st_mtime < DAY:
            continue  # another command: the one that was killed may still be started again
        path.unlink(missing_ok=True)


def _digest(journal: Journal) -> str:
    """The same for the same pipeline, parameters and code."""
    header: dict[str, Any] = journal.header
    same = [header["name"], header["parameters"], header["tags"].get("code_sha256")]
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()
