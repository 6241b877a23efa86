"""One sample in words: what is true, what the model says, and its columns as they are in the file."""

import base64
import math
import struct
import zlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.mtl import Task

SHOWN_LABELS = 4
SHOWN_COLUMNS = 12
LEAST_LIKELY = 0.05  # answers below this are not told
LONGEST = 60  # characters of one cell


def truth_in_words(task: Task, target: Tensor) -> str:
    """What is true of a sample."""
    kind, meaning = task.meaning.kind, task.meaning
    if kind == "number":
        return f"{meaning.center + meaning.scale * target.item():.4g}"
    if kind == "binary":
        return task.labels[0] if target.item() > 0 else str(meaning.other)
    return _listed([label for label, value in zip(task.labels, target.tolist(), strict=True) if value > 0])


def answer_in_words(task: Task, answer: Tensor) -> str:
    """What the model says of it: a number, or the likeliest answer with its probability."""
    kind, meaning, values = task.meaning.kind, task.meaning, answer.tolist()
    if kind == "number":
        return f"{meaning.center + meaning.scale * values[0]:.4g}"
    if kind == "binary":
        yes = values[0] >= 0.5
        return f"{task.labels[0] if yes else meaning.other} ({max(values[0], 1 - values[0]):.0%})"
    ranked = sorted(zip(values, task.labels, strict=True), key=lambda pair: -pair[0])
    if kind == "labels":
        said = [f"{label} ({value:.0%})" for value, label in ranked if value >= 0.5]
        return _listed(said) if said else f"none (nearest: {ranked[0][1]}, {ranked[0][0]:.0%})"
    likely = [f"{label} ({value:.0%})" for value, label in ranked[:2] if value >= LEAST_LIKELY]
    return _listed(likely[:1] if kind == "classes" else likely)


def _listed(texts: list[str]) -> str:
    more = len(texts) - SHOWN_LABELS
    return ", ".join(texts[:SHOWN_LABELS]) + (f" and {more} more" if more > 0 else "") if texts else "none"


def raw_columns(table: TaskTable, rows: list[int], first: list[str]) -> list[dict[str, str]]:
    """Columns of some rows as they are in the file, those in ``first`` before others; none for images.

    In a table of words, where a row has a few of thousands, the words that it has.
    """
    if table.content == "images" or not rows:
        return [{} for _ in rows]
    at = np.array(rows, dtype=np.intp)
    if isinstance(table.features, csr_array):
        return [_largest(table.dense_features(at[[place]])[0], table.feature_names) for place in range(len(at))]
    frame = table.frame(at)
    known = [name for name in dict.fromkeys(first) if name in frame.columns]
    names = [*known, *(name for name in frame.columns if name not in known)][:SHOWN_COLUMNS]
    return [{name: in_words(frame[name].iloc[place]) for name in names} for place in range(len(at))]


def _largest(values: NDArray[np.float32], names: tuple[str, ...]) -> dict[str, str]:
    order = np.argsort(-np.abs(values), kind="stable")[:SHOWN_COLUMNS]
    return {names[place]: in_words(float(values[place])) for place in order if values[place] != 0}


def in_words(cell: Any) -> str:
    """A cell of a table.

    >>> in_words(3.0), in_words(0.123456), in_words(float("nan")), in_words(pd.Timestamp("2024-05-01")), in_words("x")
    ('3', '0.1235', 'missing', '2024-05-01', 'x')
    """
    if cell is None or pd.isna(cell):
        return "missing"
    if isinstance(cell, pd.Timestamp):
        return str(cell.date()) if cell == cell.normalize() else str(cell)
    if isinstance(cell, float | np.floating):
        return str(int(cell)) if float(cell).is_integer() and abs(float(cell)) < 1e9 else f"{cell:.4g}"
    text = str(cell)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def pictured(table: TaskTable, row: int) -> str | None:
    """A sample that is a square image, as a PNG in base64; None for any other."""
    side = math.isqrt(len(table.feature_names))
    if table.content != "images" or side * side != len(table.feature_names):
        return None
    pixels = table.dense_features(np.array([row], dtype=np.intp)).reshape(side, side)
    largest = max(float(np.abs(pixels).max()), 1e-12)
    return base64.b64encode(_png((255 * pixels / largest).clip(0, 255).astype(np.uint8))).decode()


def _png(grey: NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file with one byte of grey per pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
