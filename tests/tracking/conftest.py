import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from idbpd.tracking.journal import Journal
from idbpd.tracking.runs import EXECUTION_VARIABLE
from idbpd.tracking.store import URI_VARIABLE, Store, address, open_store

RUN = {"dataset": "yeast", "method": "idbpd", "seed": 0}


def begin(folder: Path, uri: str, name: str = "20260101T000000-a", artifacts: str | None = None) -> Journal:
    header = {
        "store": address(uri),
        "experiment": "test",
        "artifacts": artifacts,
        "name": "a run",
        "tags": {"pipeline": "training"},
        "parameters": {"model.hidden": "8"},
        "started": 1_700_000_000_000,
    }
    return Journal.begin(folder / name, header)


@pytest.fixture
def store(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An SQLite store of the test's own."""
    folder = tmp_path / "tracking"
    folder.mkdir()
    shutil.copy(database, folder)
    store = open_store(None, folder, "test")
    monkeypatch.setenv(URI_VARIABLE, store.uri)
    return store


@pytest.fixture
def journal(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    """An execution that is tracked in that store."""
    journal = begin(tmp_path / "outbox", store.uri, artifacts=store.artifacts)
    monkeypatch.setenv(EXECUTION_VARIABLE, str(journal.folder))
    yield journal
    journal.close()
