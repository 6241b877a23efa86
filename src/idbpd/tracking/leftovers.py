"""Send the journals that earlier executions left behind."""

from pathlib import Path

from idbpd.tracking.delivery import send
from idbpd.tracking.journal import Journal
from idbpd.tracking.runs import parent_of
from idbpd.tracking.store import address


def send_leftovers(outbox: Path, uri: str) -> list[Journal]:
    """Send the journals of ended executions to the store at ``uri``; return the journals that could not be sent.

    An execution without a final status (its process was killed, or the machine went down) ends as KILLED.
    """
    left = []
    for journal in ended(outbox):
        try:
            if journal.header["store"] != address(uri):
                continue
            if not journal.ended:
                journal.end(parent_of(journal), "KILLED")
            sent = send(journal, now=True)
        except FileNotFoundError:
            continue  # another command has just sent it
        journal.close()
        if not sent:
            left.append(journal)
            break  # the store cannot be reached, so the other journals would fail too
    return left


def ended(outbox: Path) -> list[Journal]:
    """The journals of executions that have ended, oldest first."""
    journals = [Journal(folder) for folder in sorted(outbox.glob("*")) if (folder / "execution.json").is_file()]
    return [journal for journal in journals if not journal.alive]
