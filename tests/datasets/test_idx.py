import gzip
from pathlib import Path

import numpy as np
import pytest

from idbpd.datasets import IdxDataset
from idbpd.datasets.idx import decompressed, parse_idx, render_idx
from idbpd.errors import DataError

IMAGES = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(12)])


def test_the_numbers_come_out_in_their_shape() -> None:
    array = parse_idx(IMAGES, "images")
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, np.arange(12).reshape(2, 2, 3))


@pytest.mark.parametrize("kind", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("name", ["array.idx", "array.gz"])
def test_every_type_comes_back_from_a_file(kind: str, name: str, tmp_path: Path) -> None:
    array = np.arange(-3, 21).reshape(4, 3, 2).astype(kind)
    dataset = IdxDataset(filepath=str(tmp_path / name))
    dataset.save(array)
    loaded = dataset.load()
    assert loaded.dtype == array.dtype
    np.testing.assert_array_equal(loaded, array)
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_the_content_tells_whether_it_is_compressed() -> None:
    assert decompressed(gzip.compress(IMAGES), "images") == IMAGES
    assert decompressed(IMAGES, "images.gz") == IMAGES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "images: the file is empty"),
        (b"\0\0\x08", "images: not an IDX file: it begins with 00 00 08, expected 00 00, a type (08, 09, 0b"),
        (b"PK\x03\x04" + IMAGES, "images: not an IDX file: it begins with 50 4b 03 04"),
        (b"\0\0\x0a\x01" + IMAGES, "images: not an IDX file: it begins with 00 00 0a 01"),
        (b"\0\0\x08\0", "images: the header says 0 dimensions"),
        (IMAGES[:10], "images: the header says 3 dimensions and needs 16 bytes, but the file has 10"),
        (IMAGES[:-1], "images: the header says 2 x 2 x 3 values, which makes 28 bytes, but the file has 27"),
        (IMAGES + b"\0", "images: the header says 2 x 2 x 3 values, which makes 28 bytes, but the file has 29"),
        (b"\0\0\x08\x02" + bytes(4) + b"\xff" * 4, "images: the header says 0 x 4294967295: the file has no values"),
        (b"\0\0\x0e\x03" + b"\xff" * 12, "4294967295 x 4294967295 x 4294967295 values"),
        (gzip.compress(IMAGES, mtime=0)[:-9], "images: the gzip stream is cut off after "),
        (gzip.compress(IMAGES, mtime=0)[:-8] + bytes(8), "images: the gzip stream is damaged (CRC check failed"),
        (b"\x1f\x8b" + IMAGES, "images: the gzip stream is damaged"),
    ],
)
def test_a_damaged_file_is_named(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        parse_idx(decompressed(content, "images"), "images")
    assert message in str(error.value)


def test_values_that_the_format_cannot_hold_are_refused() -> None:
    with pytest.raises(DataError, match=r"cannot hold an array of complex128 with shape \(3,\)"):
        render_idx(np.zeros(3, dtype=complex))
    with pytest.raises(DataError, match=r"cannot hold an array of uint8 with shape \(\)"):
        render_idx(np.zeros((), dtype=np.uint8))
