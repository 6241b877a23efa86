"""Published files: fetched from a server of the test's own, checked, and told about when that fails."""

import gzip
import hashlib
import io
import logging
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kedro.io import DatasetError

from idbpd.datasets import ArffDataset, IdxDataset, PublicDataset
from idbpd.datasets.idx import render_idx
from idbpd.datasets.public import PublicFile, download
from idbpd.errors import DataError

ARFF = b"@relation 'x: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute x numeric\n@data\n0,1,5\n1,0,6\n"
IMAGES = render_idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


class _Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.address = ""

    def put(self, name: str, content: bytes) -> str:
        (self.folder / name).write_bytes(content)
        return f"{self.address}/{name}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    (tmp_path / "served").mkdir()
    served = _Server(tmp_path / "served")

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, *_: Any) -> None:
            served.asked.append(self.path)

        def log_error(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served.folder)))
    served.address = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield served
    listening.shutdown()
    thread.join()
    listening.server_close()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _zip(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _dataset(path: Path, address: str, sha256: str, **more: str) -> PublicDataset:
    kind = "idbpd.datasets.IdxDataset" if path.suffix == ".gz" else "idbpd.datasets.ArffDataset"
    return PublicDataset(
        dataset={"type": kind, "filepath": str(path)},
        files={"only": {"filepath": str(path), "address": address, "sha256": sha256, **more}},
    )


def test_a_missing_file_is_downloaded_once(server: _Server, tmp_path: Path) -> None:
    path = tmp_path / "root" / "mnist" / "images.gz"
    address = server.put("images.gz", gzip.compress(IMAGES, compresslevel=1))
    dataset = _dataset(path, address, _sha256(IMAGES))
    assert not dataset.exists()
    assert dataset.load().shape == (2, 3, 4)
    assert dataset.load().shape == (2, 3, 4)
    assert server.asked == ["/images.gz"]
    assert path.read_bytes() == (server.folder / "images.gz").read_bytes()
    assert [file.name for file in path.parent.iterdir()] == ["images.gz"]


def test_the_content_of_a_compressed_file_matters_not_its_compression(server: _Server, tmp_path: Path) -> None:
    address = server.put("images.gz", gzip.compress(IMAGES[:-1] + b"\xff"))
    with pytest.raises(DatasetError) as error:
        _dataset(tmp_path / "images.gz", address, _sha256(IMAGES)).load()
    assert f"{address} has changed: the SHA-256 of images.gz is " in str(error.value)
    assert f"expected {_sha256(IMAGES)}" in str(error.value)
    assert f"put it at {tmp_path / 'images.gz'}" in str(error.value)
    assert not (tmp_path / "images.gz").exists()


def test_files_of_one_archive_are_downloaded_together(server: _Server, tmp_path: Path) -> None:
    address = server.put("set.zip", _zip(**{"set.arff": ARFF, "set.xml": b"<labels/>"}))
    files = [
        PublicFile(str(tmp_path / name), address, _sha256(content), member=name)
        for name, content in (("set.arff", ARFF), ("set.xml", b"<labels/>"))
    ]
    download(files)
    assert [Path(file.filepath).read_bytes() for file in files] == [ARFF, b"<labels/>"]
    assert server.asked == ["/set.zip"]


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "chd49" / "CHD_49.arff"
    address = "http://127.0.0.1:9/CHD_49_Mulan.zip"  # nobody listens there
    with pytest.raises(DatasetError) as error:
        _dataset(path, address, "0" * 64, member="CHD_49.arff").load()
    message = str(error.value.__cause__)
    assert isinstance(error.value.__cause__, DataError)
    assert message.startswith(f"{path} does not exist and could not be downloaded from {address} (no connection). ")
    assert f"put the file CHD_49.arff inside it at {path}" in message
    assert message.endswith("or set the variable IDBPD_DATA to a folder that contains chd49/CHD_49.arff")
    assert "\n" not in message
    assert not path.parent.exists()


def test_a_missing_page_and_a_wrong_archive_are_named(server: _Server, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"could not be downloaded from .*/none.zip \(404 Client Error"):
        _dataset(tmp_path / "a.arff", f"{server.address}/none.zip", "0" * 64, member="a.arff").load()
    address = server.put("page.zip", b"<html>please log in</html>")
    with pytest.raises(DatasetError, match=r"page.zip is not a zip archive with a file a.arff"):
        _dataset(tmp_path / "a.arff", address, "0" * 64, member="a.arff").load()
    address = server.put("other.zip", _zip(**{"b.arff": ARFF}))
    with pytest.raises(DatasetError, match=r"other.zip is not a zip archive with a file a.arff"):
        _dataset(tmp_path / "a.arff", address, "0" * 64, member="a.arff").load()
    address = server.put("cut.gz", gzip.compress(IMAGES)[:-9])
    with pytest.raises(DatasetError, match=r"cut.gz: the gzip stream is cut off"):
        _dataset(tmp_path / "cut.gz", address, _sha256(IMAGES)).load()
    assert {file.name for file in tmp_path.iterdir()} == {"served"}


def test_a_folder_that_cannot_be_made_is_named(server: _Server, tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file where a folder should be")
    address = server.put("images.gz", gzip.compress(IMAGES))
    with pytest.raises(DatasetError, match=r"cannot write .*root/images.gz: .*; set IDBPD_DATA"):
        _dataset(tmp_path / "root" / "images.gz", address, _sha256(IMAGES)).load()


def test_a_changed_file_is_used_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes(ARFF)
    logger = logging.getLogger("idbpd")
    logger.propagate = True  # the project's logging configuration turns this off
    assert len(_dataset(path, "http://127.0.0.1:9/", _sha256(ARFF)).load()) == 2
    assert not caplog.records
    path.write_bytes(ARFF.replace(b"5", b"7"))
    assert len(_dataset(path, "http://127.0.0.1:9/", _sha256(ARFF)).load()) == 2
    assert "is not the published file" in caplog.text


def test_a_misspelt_key_is_named() -> None:
    with pytest.raises(Exception, match="unexpected keyword argument 'sha_256'"):
        PublicDataset(
            dataset={"type": "idbpd.datasets.ArffDataset", "filepath": "a.arff"},
            files={"only": {"filepath": "a.arff", "address": "http://x", "sha_256": "0"}},
        )


def test_files_are_read_over_http_and_from_memory(server: _Server) -> None:
    address = server.put("set.arff", ARFF)
    assert ArffDataset(filepath=address).load().feature_names == ("x",)
    server.put("set.xml", b'<labels><label name="a"/><label name="b"/></labels>')
    assert ArffDataset(filepath=address, labels_file="set.xml").load().label_names == ("a", "b")
    with pytest.raises(DatasetError, match=r"cannot read http://.*/none.arff: no such file"):
        ArffDataset(filepath=f"{server.address}/none.arff").load()
    remote = IdxDataset(filepath="memory://folder/images.gz")
    remote.save(np.arange(3, dtype=np.uint8))
    assert remote.exists()
    np.testing.assert_array_equal(IdxDataset(filepath="memory://folder/images.gz").load(), [0, 1, 2])
