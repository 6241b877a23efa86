"""The MLflow run that a result belongs to.

One execution is one parent run. It has one child run per data set, method and seed, so that MLflow can compare methods
as rows. All processes of an execution find its journal through an environment variable, because Kedro's hooks do not
run in the workers of its parallel runner, while datasets do.
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
MODEL = {"dataset", "method", "seed"}  # the identity of a run's own model; other child runs have more


def current_journal() -> Journal | None:
    """The journal of this execution; None if tracking is off."""
    folder = os.environ.get(EXECUTION_VARIABLE)
    return Journal(Path(folder)) if folder else None


def parent_of(journal: Journal) -> dict[str, Any]:
    """The parent run of an execution, in the form used by entries."""
    header = journal.header
    return {"key": journal.folder.name, "name": header["name"], "tags": header["tags"], "started": header["started"]}


def track(identity: Mapping[str, Any], kind: str, content: Mapping[str, Any], files: Sequence[Path] = ()) -> None:
    """Add an entry to the child run with this identity: on disk at once, in the store as soon as possible."""
    journal = current_journal()
    if journal is not None:
        journal.append(_child_of(journal, identity), kind, content, files)
        send(journal)


def track_parent(kind: str, content: Mapping[str, Any]) -> None:
    """Add an entry to the parent run, the row that people see first."""
    journal = current_journal()
    if journal is not None:
        journal.append(parent_of(journal), kind, content)


def track_complete_run(
    identity: Mapping[str, Any], parameters: Mapping[str, str], contents: Iterable[Content], status: str
) -> bool:
    """Track a complete child run; return whether tracking is on.

    Its parameters override those of the execution. It has its own status, FINISHED or FAILED, independent of the
    execution.
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
    """The store's id of the child run with this identity; None if tracking is off or the store cannot be reached."""
    journal = current_journal()
    if journal is None:
        return None
    run = _child_of(journal, identity)
    journal.append(run, "open", {})
    send(journal)
    return journal.runs.get(run["key"])


def _child_of(journal: Journal, identity: Mapping[str, Any]) -> dict[str, Any]:
    parent = parent_of(journal)
    texts = {name: str(value) for name, value in identity.items()}
    return {
        "key": "/".join([parent["key"], *texts.values()]),
        # The parent of one model has the same words as its name.
        "name": " ".join(texts.values()) + (" model" if set(texts) == MODEL else ""),
        # The tags of the execution are repeated, because child runs are compared without their parents.
        "tags": {**parent["tags"], **texts},
        "started": int(time.time() * 1000),
        "parent": parent,
    }
