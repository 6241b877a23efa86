"""IDX, the format of the MNIST files: a header with type and sizes, then the numbers, all big-endian."""

import gzip
import math
import zlib
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.file_dataset import FileDataset
from idbpd.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
# The third byte of the file; the first two are zero and the fourth is the number of dimensions.
TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class IdxDataset(FileDataset[NDArray[Any]]):
    """An array of numbers in an IDX file. Gzip compression is detected from the content, not from the name.

    ```yaml
    digits:
      type: idbpd.datasets.IdxDataset
      filepath: data/01_raw/mnist/train-images-idx3-ubyte.gz
    ```
    """

    def _parse(self, content: bytes, name: str) -> NDArray[Any]:
        return parse_idx(decompressed(content, name), name)

    def _render(self, data: NDArray[Any]) -> bytes:
        content = render_idx(data)
        # Without a time in its header, equal arrays give equal files.
        return gzip.compress(content, mtime=0) if PurePosixPath(self._filepath).suffix == ".gz" else content


def decompressed(content: bytes, name: str) -> bytes:
    """Decompress the content if it is compressed with gzip."""
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise DataError(f"{name}: the gzip stream is cut off after {len(content)} bytes; get the file again") from error
    except (OSError, zlib.error) as error:
        raise DataError(f"{name}: the gzip stream is damaged ({error}); get the file again") from error


def parse_idx(content: bytes, name: str) -> NDArray[Any]:
    """The array in the decompressed content of an IDX file, in this machine's byte order."""
    if not content:
        raise DataError(f"{name}: the file is empty")
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        raise DataError(
            f"{name}: not an IDX file: it begins with {content[:4].hex(' ')}, expected 00 00, a type "
            f"({', '.join(f'{code:02x}' for code in TYPES)}) and the number of dimensions"
        )
    kind, dimensions = np.dtype(TYPES[content[2]]), content[3]
    begin = 4 + 4 * dimensions
    if dimensions == 0 or len(content) < begin:
        raise DataError(
            f"{name}: the header says {dimensions} dimensions and needs {max(begin, 8)} bytes, "
            f"but the file has {len(content)}"
        )
    shape = tuple(int.from_bytes(content[at : at + 4]) for at in range(4, begin, 4))
    if 0 in shape:
        raise DataError(f"{name}: the header says {' x '.join(str(size) for size in shape)}: the file has no values")
    # Python integers: a product of four-byte sizes could overflow a numpy integer.
    expected = begin + math.prod(shape) * kind.itemsize
    if len(content) != expected:
        sizes = " x ".join(str(size) for size in shape)
        raise DataError(
            f"{name}: the header says {sizes} values, which makes {expected} bytes, but the file has {len(content)}"
        )
    return np.frombuffer(content, dtype=kind, offset=begin).reshape(shape).astype(kind.newbyteorder("="))


def render_idx(array: NDArray[Any]) -> bytes:
    """The content of an IDX file with this array."""
    codes = {np.dtype(kind): code for code, kind in TYPES.items()}
    kind = array.dtype.newbyteorder(">")
    if kind not in codes or not array.ndim or not array.size:
        raise DataError(
            f"an IDX file cannot hold an array of {array.dtype} with shape {array.shape}; "
            f"it holds at least one dimension and one value of {', '.join(choice.name for choice in codes)}"
        )
    sizes = b"".join(size.to_bytes(4) for size in array.shape)
    return bytes([0, 0, codes[kind], array.ndim]) + sizes + array.astype(kind).tobytes()
