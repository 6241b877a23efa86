"""What a later comparison needs to know of a run: the samples it was judged on, the measures, and their spread.

It has no rows of the table: the samples are known by a hash, and their losses by how much each twentieth of the samples
moves the measures (`idbpd.mtl.chance`). Two runs with the same hash can be compared in pairs.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from idbpd.mtl import Criterion, Task
from idbpd.mtl.chance import spreads


def standing_of(
    task: Task, logits: Tensor, criterion: Criterion, rows: NDArray[np.int64], bound: float | None
) -> Mapping[str, Any]:
    """A task on the part that it is judged on; ``rows`` are the rows of the table that its samples are."""
    size = task.size
    return {
        "samples": size,
        "samples_sha256": _sha256(rows, task.targets),
        # Losses can be compared where these words are the same.
        "criterion": f"{criterion.loss!r}; {criterion.worst_case.protects(task.name, size)}",
        "upper_bound": bound,
        "spreads": spreads(task, logits, criterion),
    }


def _sha256(rows: NDArray[np.int64], targets: Tensor) -> str:
    """SHA-256 of row numbers and targets. Features do not count: runs with other features may be compared."""
    digest = hashlib.sha256(np.ascontiguousarray(rows, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(targets.cpu().numpy(), dtype="<f4").tobytes())
    return digest.hexdigest()
