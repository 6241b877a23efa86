"""``kedro sync``: send to the tracking store what earlier runs could not."""

import os
from pathlib import Path

from idbpd.errors import ConfigurationError
from idbpd.tracking.leftovers import ended, send_leftovers
from idbpd.tracking.settings import OUTBOX, TrackingSettings
from idbpd.tracking.store import PATIENCE, URI_VARIABLE, address, open_store


def synchronise(project: Path, config: TrackingSettings) -> str:
    """Send what waits in the project, and say what was sent; a `ConfigurationError` when the store is still away."""
    outbox = project / config.folder / OUTBOX
    waiting = ended(outbox)
    if not waiting:
        return "nothing waits to be sent"
    uri = os.environ.get(URI_VARIABLE) or config.tracking_uri
    store = open_store(uri, project / config.folder, config.experiment)
    os.environ[URI_VARIABLE] = store.uri
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    if send_leftovers(outbox, store.uri):
        raise ConfigurationError(
            f"the tracking store at {address(store.uri)} is away; what waits for it stays in {outbox}"
        )
    elsewhere = {journal.header["store"] for journal in ended(outbox)} - {address(store.uri)}
    sent = sum(not journal.folder.exists() for journal in waiting)
    lines = [f"sent what {sent} executions had left to {address(store.uri)}"]
    lines += [f"others wait for {other}: set {URI_VARIABLE} to it" for other in sorted(elsewhere)]
    refused = [journal.folder / "rejected" for journal in ended(outbox) if (journal.folder / "rejected").exists()]
    lines += [f"the store refused entries, which are kept in {folder}" for folder in refused]
    return "\n".join(lines)
