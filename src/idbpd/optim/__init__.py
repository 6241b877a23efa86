"""Semi-infinite constrained min-max optimisation in torch, with a certificate.

    min over x of max over y of phi(x, y)    subject to    psi_i(x, w) <= 0 for all w in W_i
"""

from idbpd.optim.idbpd import IDBPD
from idbpd.optim.kkt import KKT
from idbpd.optim.method import Status
from idbpd.optim.problem import Constraint, Problem
from idbpd.optim.solution import History, Record, RunState, Solution
from idbpd.optim.solve import solve

__all__ = ["IDBPD", "KKT", "Constraint", "History", "Problem", "Record", "RunState", "Solution", "Status", "solve"]
