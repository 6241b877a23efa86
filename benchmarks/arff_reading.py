"""Our ARFF reader against liac-arff and scipy: time, memory, what errors say, and what each one accepts.

    pip install --target /tmp/liac liac-arff
    PYTHONPATH=src:.:/tmp/liac IDBPD_DATA=/path/to/data python benchmarks/arff_reading.py

liac-arff is not a dependency of this project: without it, only the times of the others are printed. Readers take turns
in one process; the least processor time of several counts. Memory is what a process of its own needs more at its peak.
"""

import importlib.util
import io
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.arff_files import BROKEN, generated
from numpy.typing import NDArray
from scipy.io.arff import loadarff
from scipy.sparse import coo_array, csr_array

from idbpd.datasets.arff.header import Document, read_document
from idbpd.datasets.arff.reader import LabelNames, read_arff
from idbpd.datasets.arff.rows import read_rows
from idbpd.errors import DataError

REPEATS = 5
FILES = {
    "CHD49": ("chd49/CHD_49.arff", 6),
    "Yeast": ("yeast/Yeast.arff", 14),
    "20NG": ("20ng/20NG.arff", 20),
}
SPARSE = ("20NG",)
HAS_LIAC = importlib.util.find_spec("arff") is not None


def _liac(content: bytes, *, sparse: bool = False, encoding: str = "utf-8") -> dict[str, Any]:
    """What liac-arff makes of a file: lists of Python objects."""
    import arff  # noqa: PLC0415 - only where it is installed

    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding)
    document: dict[str, Any] = arff.load(text, return_type=arff.COO if sparse else arff.DENSE)
    return document


def _liac_arrays(content: bytes, *, sparse: bool) -> NDArray[np.float32] | csr_array:
    """The same as one array, which is what a network needs."""
    document = _liac(content, sparse=sparse)
    if not sparse:
        return _codes(document).astype(np.float32)
    values, rows, columns = document["data"]
    numbers = np.array([float(value) for value in values], dtype=np.float32)
    return csr_array(coo_array((numbers, (rows, columns)), shape=(max(rows) + 1, len(document["attributes"]))))


def _codes(document: dict[str, Any]) -> NDArray[np.float64]:
    """Numbers as they are, categories by their place, a missing value as NaN, a text as 0: as our `read_rows` does."""
    columns = []
    for at, (_, kind) in enumerate(document["attributes"]):
        column = [row[at] for row in document["data"]]
        if isinstance(kind, list):
            codes = {text: float(code) for code, text in enumerate(kind)}
            columns.append([np.nan if value is None else codes[value] for value in column])
        elif kind == "STRING":
            columns.append([np.nan if value is None else 0.0 for value in column])
        else:
            columns.append([np.nan if value is None else float(value) for value in column])
    return np.array(columns, dtype=np.float64).T


def _readers(path: Path, name: str, count: int) -> dict[str, Callable[[], object]]:
    sparse = name in SPARSE
    names = [attribute.name for attribute in read_document(path.read_bytes(), path.name, "utf-8").header.attributes]
    labels = LabelNames(names[-count:], ["here"] * count)
    readers: dict[str, Callable[[], object]] = {"ours": lambda: read_arff(path.read_bytes(), path.name, labels=labels)}
    if not sparse:  # scipy does not read sparse files
        readers["scipy"] = lambda: loadarff(path)
    if HAS_LIAC:
        readers["liac-arff"] = lambda: _liac(path.read_bytes(), sparse=sparse)
        readers["liac-arff, as an array"] = lambda: _liac_arrays(path.read_bytes(), sparse=sparse)
    return readers


def _peak() -> float:
    """The largest memory that this process ever had, in MB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def _memory(read: Callable[[], object]) -> float:
    """What a copy of this process needs more at its peak, in MB."""
    receive, send = os.pipe()
    if (child := os.fork()) == 0:
        before = _peak()
        read()
        os.write(send, f"{_peak() - before:.1f}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        return float(pipe.read())


def compare_speed(root: Path) -> None:
    """Print the least processor time of each reader, its ratio to ours, and its memory."""
    for name, (file, count) in FILES.items():
        readers = _readers(root / file, name, count)
        memory = {reader: _memory(read) for reader, read in readers.items()}
        best = dict.fromkeys(readers, float("inf"))
        for _ in range(REPEATS):
            for reader, read in readers.items():
                begin = time.process_time()
                read()
                best[reader] = min(best[reader], time.process_time() - begin)
        for reader, seconds in best.items():
            ratio = seconds / best["ours"]
            print(f"{name:6} {reader:23} {seconds * 1e3:8.1f} ms {ratio:6.1f} x ours {memory[reader]:8.1f} MB")


def _ours_says(content: bytes) -> str:
    try:
        read_arff(content, "file.arff")
    except DataError as error:
        return str(error)
    return "(accepted)"


def _liac_says(content: bytes) -> str:
    try:
        _liac(content)
    except Exception as error:  # whatever it is: a user would see it
        return f"{type(error).__name__}: {error}".splitlines()[0][:110]
    return "(accepted)"


def compare_errors() -> None:
    """Print what both say about each broken file."""
    named = Counter[str]()
    for name, content in BROKEN.items():
        said = {"ours": _ours_says(content), "liac-arff": _liac_says(content)}
        print(f"{name}:")
        for reader, text in said.items():
            print(f"  {reader:10} {text}")
            named[f"{reader} refused"] += text != "(accepted)"
            named[f"{reader} named the line"] += "line" in text and text != "(accepted)"
    print(f"of {len(BROKEN)} broken files: {dict(named)}")


def _outcome(ours: Callable[[], Document], content: bytes, encoding: str) -> str:
    """Who accepts a file, and whether both read the same numbers."""
    try:
        document = ours()
        values, _ = read_rows(document, "file.arff")
        mine = values.toarray() if isinstance(values, csr_array) else values
    except DataError:
        mine = None
    try:
        theirs = _codes(_liac(content, encoding=encoding))
    except Exception:  # whatever it is, the file was not read
        theirs = None
    if mine is None or theirs is None:
        return "both refuse" if mine is theirs else "only liac-arff accepts" if mine is None else "only ours accepts"
    return "same numbers" if np.array_equal(mine, theirs, equal_nan=True) else "other numbers"


def compare_acceptance() -> None:
    """Print, for each trait of generated files, who accepts how many, and whether both read the same numbers."""
    counts: dict[str, Counter[str]] = {}
    for trait, content, encoding in generated():
        outcome = _outcome(lambda c=content, e=encoding: read_document(c, "file.arff", e), content, encoding)  # type: ignore[misc]
        counts.setdefault(trait, Counter())[outcome] += 1
    for trait, found in counts.items():
        print(f"{trait:38} " + ", ".join(f"{outcome} {count}" for outcome, count in found.most_common()))
    print(f"all {sum(found.total() for found in counts.values())}: {dict(sum(counts.values(), Counter()))}")


def _sections(root: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "Reading the published files", lambda: compare_speed(root)
    if HAS_LIAC:
        yield "What errors say", compare_errors
        yield "What is accepted", compare_acceptance


def main() -> None:
    """Print all comparisons."""
    root = os.environ.get("IDBPD_DATA")
    if root is None:
        sys.exit("set IDBPD_DATA to the folder with chd49/, yeast/ and 20ng/")
    for title, compare in _sections(Path(root)):
        print(f"\n{title}\n")
        compare()
    if not HAS_LIAC:
        print("\nliac-arff is not here; pip install --target /tmp/liac liac-arff, and put that folder on PYTHONPATH")


if __name__ == "__main__":
    main()
