"""Send the journals that earlier executions left behind."""

import time
from contextlib import suppress
from pathlib import Path

from idbpd.datasets.partial import machine, remove_abandoned
from idbpd.tracking.delivery import send
from idbpd.tracking.journal import HEADER, Journal, remove_journal
from idbpd.tracking.runs import parent_of
from idbpd.tracking.store import address

SECONDS_OF_OTHERS = 12 * 3600.0


def send_leftovers(outbox: Path, uri: str, *, of_all_machines: bool = False) -> list[Journal]:
    """Send the journals of ended executions to the store at ``uri``; return the journals that could not be sent.

    An execution without a final status (its process was killed, or the machine went down) ends as KILLED. The journal
    of another machine is left alone for some hours: not every file system shows the lock of an execution that is alive.
    """
    _remove_headless(outbox)
    left = []
    for journal in ended(outbox):
        try:
            if journal.header["store"] != address(uri) or not (of_all_machines or _is_ours(journal)):
                continue
            if not journal.ended:
                journal.end(parent_of(journal), "KILLED")
            sent = send(journal, now=True, uri=uri)
        except FileNotFoundError:
            continue  # another command has just sent it
        journal.close()
        if not sent:
            left.append(journal)
            break  # the store cannot be reached, so the other journals would fail too
    return left


def _is_ours(journal: Journal) -> bool:
    """Whether the execution was on this machine, or is long over."""
    quiet = time.time() - journal.folder.stat().st_mtime
    return journal.header.get("machine", machine()) == machine() or quiet > SECONDS_OF_OTHERS


def _remove_headless(outbox: Path) -> None:
    """Remove what a process left that was killed while it began a journal, or removed one: nothing to send is in it."""
    remove_abandoned(outbox)
    for folder in outbox.glob("[0-9]*"):  # of earlier versions, which named a journal before it was complete
        if folder.is_dir() and not (folder / HEADER).exists() and not Journal(folder).alive:
            remove_journal(folder)
    with suppress(OSError):
        outbox.rmdir()  # succeeds only if it is empty


def ended(outbox: Path) -> list[Journal]:
    """The journals of executions that have ended, oldest first."""
    journals = [Journal(folder) for folder in sorted(outbox.glob("[!.]*")) if (folder / HEADER).is_file()]
    return [journal for journal in journals if not journal.alive]
