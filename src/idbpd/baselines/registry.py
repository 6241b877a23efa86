"""Every method of the project. A new one is a file in this folder and a line in `ENTRIES`.

The order is that of figures, tables and the benchmark.
"""

from idbpd.baselines import cooper_adam, discretization, gdma, idbpd_methods
from idbpd.baselines.method_entry import MethodEntry

ENTRIES: tuple[MethodEntry, ...] = (
    *idbpd_methods.ENTRIES,
    *cooper_adam.ENTRIES,
    *discretization.ENTRIES,
    *gdma.ENTRIES,
)
