"""How long it takes to read Yeast and 20NG, against other readers of ARFF.

    IDBPD_DATA=/path/to/data python benchmarks/arff_reading.py

Readers take turns in one process; the best of several times counts. `liac-arff` is not a dependency of this project: it
is measured where it is installed (pip install liac-arff).
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scipy.io.arff import loadarff

from idbpd.datasets import ArffDataset

REPEATS = 5


def _liac(path: Path) -> object:
    import arff  # noqa: PLC0415 - only where it is installed

    with path.open(encoding="utf-8") as file:
        return arff.load(file, return_type=arff.COO if path.stem == "20NG" else arff.DENSE)


def _readers(root: Path) -> dict[str, dict[str, Callable[[], object]]]:
    yeast, news = root / "yeast" / "Yeast.arff", root / "20ng" / "20NG.arff"
    readers: dict[str, dict[str, Callable[[], object]]] = {
        "Yeast": {
            "ours": lambda: ArffDataset(filepath=str(yeast), labels_file="Yeast.xml").load(),
            "scipy": lambda: loadarff(yeast),
        },
        "20NG": {"ours": lambda: ArffDataset(filepath=str(news)).load()},  # scipy does not read sparse files
    }
    if importlib.util.find_spec("arff"):
        readers["Yeast"]["liac-arff"] = lambda: _liac(yeast)
        readers["20NG"]["liac-arff"] = lambda: _liac(news)
    return readers


def main() -> None:
    """Print a table: the best time of each reader, and its ratio to ours."""
    root = os.environ.get("IDBPD_DATA")
    if root is None:
        sys.exit("set IDBPD_DATA to the folder with yeast/Yeast.arff and 20ng/20NG.arff")
    for name, readers in _readers(Path(root)).items():
        best = dict.fromkeys(readers, float("inf"))
        for _ in range(REPEATS):
            for reader, read in readers.items():
                begin = time.perf_counter()
                read()
                best[reader] = min(best[reader], time.perf_counter() - begin)
        for reader, seconds in best.items():
            print(f"{name:6} {reader:10} {seconds * 1e3:7.1f} ms  {seconds / best['ours']:5.2f} x ours")


if __name__ == "__main__":
    main()
