"""The methods that a run can be trained with, all as methods of the one loop, `idbpd.optim.solve`.

Each runs on the same oracle from the same start and is judged by the same residuals; only the steps differ. They are
listed in `idbpd.baselines.registry`.
"""

from idbpd.baselines.cooper_adam import CooperAdam
from idbpd.baselines.discretization import Discretization
from idbpd.baselines.factory import METHODS, grid, make_method, method_options
from idbpd.baselines.gdma import GDMA
from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.baselines.observed import BothResiduals, Observed, both_residuals

__all__ = [
    "GDMA",
    "METHODS",
    "BothResiduals",
    "CooperAdam",
    "Discretization",
    "Look",
    "MethodEntry",
    "Observed",
    "Option",
    "both_residuals",
    "grid",
    "make_method",
    "method_options",
]
