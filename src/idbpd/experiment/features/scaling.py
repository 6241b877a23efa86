"""Which scaling suits a table's features if people leave it open."""

from typing import Literal

from scipy.sparse import csr_array

from idbpd.datasets.table import StoredFeatures, TaskTable
from idbpd.mtl.scaling import Kind


def scaling_for(table: TaskTable, chosen: Kind | Literal["auto"] = "auto") -> Kind:
    """The scaling that people chose, or the one that ``auto`` stands for.

    Pixels have one scale already. Sparse counts are divided by their maximum, so that zeros stay zero. The columns of
    all other tables have units of their own.
    """
    if chosen != "auto":
        return chosen
    if table.content == "images":
        return "none"
    is_sparse = isinstance(table.features, StoredFeatures) and table.features.is_sparse
    return "maximum" if is_sparse or isinstance(table.features, csr_array) else "standard"
