"""A source behind a login: its credentials come from the catalog's ``credentials``, and not from the address."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from kedro.io import DataCatalog, DatasetError

from idbpd.datasets import ArffDataset, ComposedImagesDataset, SourcesDataset, TabularDataset
from idbpd.datasets.idx import render_idx
from tests.kedro_project import KedroProject

PASSWORD = "hunter2-of-the-store"
TABLE = "size,ill,well\n" + "".join(f"{row % 7},{row % 2},{row % 3 % 2}\n" for row in range(60))
ARFF = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute b numeric\n@data\n" + "0,1\n1,2\n" * 20
FILES = {
    "/table.csv": TABLE.encode(),
    "/table.arff": ARFF.encode(),
    "/images.gz": gzip.compress(render_idx(np.zeros((30, 4, 4), dtype=np.uint8))),
    "/classes.gz": gzip.compress(render_idx(np.arange(30, dtype=np.uint8) % 10)),
}
GIVEN: dict[str, dict[str, Any]] = {
    "Basic": {"username": "ann", "password": PASSWORD},
    "Bearer": {"token": PASSWORD},
    "sig": {"query": {"sig": PASSWORD}},
}


class _Guarded(BaseHTTPRequestHandler):
    """Gives its files to those who show the password in one of three ways."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        basic = b64encode(f"ann:{PASSWORD}".encode()).decode()
        shown = self.headers.get("Authorization", "")
        allowed = shown in {f"Basic {basic}", f"Bearer {PASSWORD}"} or parse_qs(address.query).get("sig") == [PASSWORD]
        content = FILES[address.path]
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(content) if allowed else 0))
        self.end_headers()
        if allowed and self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Guarded)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("way", GIVEN)
def test_every_way_to_show_a_password_opens_a_table(address: str, way: str) -> None:
    tasks = {"first": "ill", "second": "well"}
    table = TabularDataset(filepath=f"{address}/table.csv", tasks=tasks, credentials=GIVEN[way])
    assert len(table.load()) == 60
    assert table.exists()
    assert PASSWORD not in str(table) + json.dumps(table._describe(), default=str)
    with pytest.raises(DatasetError, match="the server wants other credentials; name them"):
        TabularDataset(filepath=f"{address}/table.csv", tasks=tasks).load()


def test_the_other_datasets_take_credentials_too(address: str) -> None:
    given = GIVEN["Basic"]
    assert len(ArffDataset(filepath=f"{address}/table.arff", credentials=given).load()) == 40
    images = ComposedImagesDataset(
        images={"filepath": f"{address}/images.gz"},
        classes={"filepath": f"{address}/classes.gz"},
        pairs=10,
        offset=2,
        groups=2,
        seed=0,
        credentials=given,
    )
    assert len(images.load()) == 10
    blocks = {
        "public": {
            "type": "idbpd.datasets.PublicDataset",
            "dataset": {"type": "idbpd.datasets.ArffDataset", "filepath": f"{address}/table.arff"},
            "files": {},
            "credentials": "store",
        }
    }
    catalog = DataCatalog.from_config(
        {**blocks, "sources": {"type": "idbpd.datasets.SourcesDataset", "sources": blocks}}, {"store": given}
    )
    assert len(catalog.load("public")) == 40
    assert isinstance(catalog["sources"], SourcesDataset)
    assert len(catalog.load("sources")["public"]()) == 40


def test_a_run_reads_a_source_behind_a_login_and_keeps_its_password(
    address: str, tracked_project: KedroProject
) -> None:
    project = tracked_project
    source = {"type": "idbpd.datasets.TabularDataset", "filepath": f"{address}/table.csv", "credentials": "store"}
    project.configure("sources.yml", {"mine": {**source, "tasks": {"first": "ill", "second": "well"}}})
    project.configure("credentials.yml", {"store": GIVEN["Basic"]})
    output = project.kedro("run", "--to-nodes", "split", params="dataset=mine")
    assert (project.data / "05_model_input/mine/train.safetensors").exists()
    project.configure("credentials.yml", {"store": {**GIVEN["Basic"], "username": "eve"}})
    output += project.kedro("run", "--to-nodes", "split", params="dataset=mine", exit_code=1)
    assert "Error: cannot read" in output
    assert "the server wants other credentials" in output
    assert PASSWORD not in output
    files = [path for path in project.path.rglob("*") if path.is_file() and path.name != "credentials.yml"]
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
