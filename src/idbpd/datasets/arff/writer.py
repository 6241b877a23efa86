"""Write a multi-label table as an ARFF file, with its labels marked as MEKA does."""

import math

import numpy as np
from scipy.sparse import csr_array

from idbpd.datasets.arff.values import MISSING, quote
from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError


def render_arff(table: TaskTable, relation: str) -> bytes:
    """The content of the file; sparse features give sparse rows. Reading it back gives the same table, bit for bit."""
    if table.groups is not None or table.positions:
        raise DataError("an ARFF file cannot hold groups or positions; save the table in another format")
    lines = [f"@relation {quote(f'{relation}: -C -{len(table.label_names)}')}", ""]
    lines += [f"@attribute {quote(name)} numeric" for name in table.feature_names]
    lines += [f"@attribute {quote(name)} {{0,1}}" for name in table.label_names]
    lines += ["", "@data"]
    sparse = isinstance(table.features, csr_array)
    for row in range(len(table)):
        values = [*table.dense_features(slice(row, row + 1))[0], *table.labels[row]]
        if sparse:
            lines.append("{" + ",".join(f"{at} {_text(value)}" for at, value in enumerate(values) if value != 0) + "}")
        else:
            lines.append(",".join(_text(value) for value in values))
    return ("\n".join(lines) + "\n").encode()


def _text(value: np.float32 | np.int8) -> str:
    number = float(value)
    if math.isinf(number):
        raise DataError(f"an ARFF file cannot hold {number}")
    # str() of a numpy float gives the shortest text that reads back as the same float32.
    return MISSING if math.isnan(number) else str(value)
