"""Figures as compact SVG files in one folder."""

import re
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import matplotlib as mpl
from kedro.io import AbstractDataset, DatasetError
from matplotlib.figure import Figure

from idbpd.datasets.partial import replacing

# Two digits are finer than any printer; matplotlib's six would double the file size.
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")
_INDENT = re.compile(r"^ +", re.MULTILINE)


class FiguresDataset(AbstractDataset[dict[str, Figure], None]):
    """Saves figures by file name. The same figure always gives the same file: no date, no random identifiers."""

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the folder."""
        self._folder = Path(folder)
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """Where the files are."""
        return self._folder

    def save(self, data: dict[str, Figure]) -> None:
        """Write every figure atomically, and delete figures of an earlier report that no longer exist."""
        for name, figure in data.items():
            text = StringIO()
            with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
                figure.savefig(text, format="svg", metadata={"Date": None})
            with replacing(self._folder / name) as partial:
                partial.write_text(_INDENT.sub("", _DIGITS.sub(r"\1", text.getvalue())), encoding="utf-8")
        for path in self._folder.glob("*.svg"):
            if path.name not in data:
                path.unlink()

    def load(self) -> NoReturn:
        """Not supported: figures are only written."""
        raise DatasetError("figures are only written")

    def _exists(self) -> bool:
        return self._folder.exists()

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}
