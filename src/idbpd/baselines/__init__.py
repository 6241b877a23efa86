"""The methods that idbpd is compared with, all as methods of the one loop, `idbpd.optim.solve`.

Each runs on the same oracle from the same start and is judged by the same residuals; only the steps differ.

| name | what it is |
|---|---|
| `idbpd` | the product's solver |
| `idbpd_paper` | the paper's Algorithm 1 with the schedule of its experiments |
| `idbpd_theorem2` | the same with the schedule of its Theorem 2 |
| `gdma_rho1` ... `gdma_rho10` | descent on a fixed weighting of objective and constraint |
| `discretization_cooper` | a growing list of worst cases, each finite problem solved by Cooper |
| `cooper_adam` | Cooper with Adam on the exact objective and constraint |
"""

from idbpd.baselines.cooper_adam import CooperAdam
from idbpd.baselines.discretization import Discretization
from idbpd.baselines.factory import GRIDS, METHODS, grid, make_method, method_options
from idbpd.baselines.gdma import GDMA
from idbpd.baselines.observed import BothResiduals, Observed, both_residuals

__all__ = [
    "GDMA",
    "GRIDS",
    "METHODS",
    "BothResiduals",
    "CooperAdam",
    "Discretization",
    "Observed",
    "both_residuals",
    "grid",
    "make_method",
    "method_options",
]
