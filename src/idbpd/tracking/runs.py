"""Which MLflow run a result belongs to.

One execution is one parent run. Under it there is one child run per data set, method and seed, so that methods are
rows that can be compared instead of prefixes of metric names. The execution is known to all its processes through the
environment: Kedro's hooks do not run in the workers of its parallel runner, datasets do.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from idbpd.tracking.delivery import send
from idbpd.tracking.journal import Journal
from idbpd.tracking.logging import Content

EXECUTION_VARIABLE = "IDBPD_EXECUTION"


def current_journal() -> Journal | None:
    """The journal of this execution; None where nothing is tracked."""
    folder = os.environ.get(EXECUTION_VARIABLE)
    return Journal(Path(folder)) if folder else None


def parent_of(journal: Journal) -> dict[str, Any]:
    """The parent run of an execution, as its entries name it."""
    header = journal.header
    return {"key": journal.folder.name, "name": header["name"], "tags": header["tags"], "started": header["started"]}


def track(identity: Mapping[str, Any], kind: str, content: Mapping[str, Any], files: Sequence[Path] = ()) -> None:
    """Track something in the child run of this identity: on disk at once, in the store as soon as it can be."""
    journal = current_journal()
    if journal is not None:
        journal.append(_child_of(journal, identity), kind, content, files)
        send(journal)


def track_whole(
    identity: Mapping[str, Any], parameters: Mapping[str, str], contents: Iterable[Content], status: str
) -> bool:
    """Track a child run from beginning to end; whether anything is tracked here.

    Its parameters take the place of those of the execution where they differ, and its status is its own: FINISHED or
    FAILED, whatever becomes of the execution.
    """
    journal = current_journal()
    if journal is None:
        return False
    run = {**_child_of(journal, identity), "parameters": dict(parameters)}
    for content in contents:
        journal.append(run, content.kind, content.content)
    journal.append(run, "close", {"status": status, "time": int(time.time() * 1000)})
    send(journal)
    return True


def child_run(identity: Mapping[str, Any]) -> str | None:
    """The id of the child run of this identity in the store; None where nothing is tracked or the store is away."""
    journal = current_journal()
    if journal is None:
        return None
    run = _child_of(journal, identity)
    journal.append(run, "open", {})
    send(journal)
    return journal.runs.get(run["key"])


def parent_run() -> str | None:
    """The id of this execution's run in the store; None where nothing is tracked or the store is away."""
    journal = current_journal()
    return None if journal is None else journal.runs.get(journal.folder.name)


def _child_of(journal: Journal, identity: Mapping[str, Any]) -> dict[str, Any]:
    parent = parent_of(journal)
    texts = {name: str(value) for name, value in identity.items()}
    return {
        "key": "/".join([parent["key"], *texts.values()]),
        "name": " ".join(texts.values()),
        # What the execution ran on is said of each of its rows too: they are compared without their parents.
        "tags": {**parent["tags"], **texts},
        "started": int(time.time() * 1000),
        "parent": parent,
    }
