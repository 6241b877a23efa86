"""What earlier executions could not send."""

from pathlib import Path

from idbpd.tracking.delivery import send
from idbpd.tracking.journal import Journal
from idbpd.tracking.runs import parent_of
from idbpd.tracking.store import address


def send_leftovers(outbox: Path, uri: str) -> list[Journal]:
    """Send what ended executions left for the store at ``uri``; the journals that still have something.

    An execution that is gone without a word (its process was killed, or the machine went down) ends as KILLED.
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
            continue  # another command has sent it in the meantime
        journal.close()
        if not sent:
            left.append(journal)
            break  # the store is away: the others would wait for it in vain
    return left


def ended(outbox: Path) -> list[Journal]:
    """The journals of executions that no longer go on, the oldest first."""
    journals = [Journal(folder) for folder in sorted(outbox.glob("*")) if (folder / "execution.json").is_file()]
    return [journal for journal in journals if not journal.alive]
