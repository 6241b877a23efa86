"""``kedro sync``: send entries that earlier runs could not send to the tracking store."""

import os
from pathlib import Path

from idbpd.errors import ConfigurationError
from idbpd.tracking.leftovers import ended, send_leftovers
from idbpd.tracking.settings import OUTBOX, TrackingSettings
from idbpd.tracking.store import HTTP_LIMITS, URI_VARIABLE, address, open_store


def synchronise(project: Path, config: TrackingSettings) -> str:
    """Send all waiting entries and return a report; a `ConfigurationError` if the store cannot be reached."""
    outbox = project / config.folder / OUTBOX
    waiting = ended(outbox)
    if not waiting:
        return "nothing to send"
    uri = os.environ.get(URI_VARIABLE) or config.tracking_uri
    store = open_store(uri, project / config.folder, config.experiment)
    for name, value in HTTP_LIMITS.items():
        os.environ.setdefault(name, value)
    if send_leftovers(outbox, store.uri, of_all_machines=True):
        raise ConfigurationError(
            f"the tracking store at {address(store.uri)} cannot be reached; its entries stay in {outbox}"
        )
    elsewhere = {journal.header["store"] for journal in ended(outbox)} - {address(store.uri)}
    sent = sum(not journal.folder.exists() for journal in waiting)
    lines = [f"sent the entries of {sent} executions to {address(store.uri)}"]
    lines += [f"other entries belong to {other}: to send them, set {URI_VARIABLE} to it" for other in sorted(elsewhere)]
    refused = [journal.folder / "rejected" for journal in ended(outbox) if (journal.folder / "rejected").exists()]
    lines += [f"the store refused some entries; they are kept in {folder}" for folder in refused]
    return "\n".join(lines)
