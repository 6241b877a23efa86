"""Semi-infinite constrained min-max optimisation in torch, with a certificate.

    min over x of max over y of phi(x, y)    subject to    psi_i(x, w) <= 0 for all w in W_i

State a `Problem` over the sets of `idbpd.optim.sets` and hand it to `solve`. A module trained so that its worst samples
count most, while the worst-case error on a second group stays below a limit:

>>> import torch
>>> from torch.func import functional_call
>>> from idbpd.optim import Constraint, Problem, solve
>>> from idbpd.optim.sets import Simplex
>>> _ = torch.manual_seed(0)
>>> inputs, others = torch.randn(8, 2), torch.randn(8, 2)
>>> net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
>>> def worst(weights, parameters, points):  # weighted squared errors, minus a price for uneven weights
...     errors = (functional_call(net, parameters, points).squeeze(1) - points.sum(1)) ** 2
...     return weights @ errors - 2 * ((weights - 1 / 8) ** 2).sum()
>>> problem = Problem(
...     objective=lambda x, y: worst(y, x, inputs),
...     over=Simplex(8),
...     constraints=[Constraint(lambda x, w: worst(w, x, others) - 0.05, over=Simplex(8))],
... )
>>> solution = solve(problem, dict(net.named_parameters()), max_steps=300, tolerance=1e-3)
>>> _ = net.load_state_dict(solution.x)
>>> solution.status.name, solution.kkt.worst <= 1e-3, bool(solution.g.max() <= 1e-3)
('CONVERGED', True, True)
"""

from idbpd.optim.kkt import KKT
from idbpd.optim.knowledge import Known
from idbpd.optim.method import Iterate, Method, Status, Verdict
from idbpd.optim.module_training import train_module
from idbpd.optim.oracle import Oracle
from idbpd.optim.problem import Constraint, Problem
from idbpd.optim.progress import Progress
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.solution import History, Record, RunState, Solution
from idbpd.optim.solve import Keeper, solve
from idbpd.optim.state_file import load_noted_state, load_state, save_state

__all__ = [
    "IDBPD",
    "KKT",
    "Constraint",
    "History",
    "Iterate",
    "Keeper",
    "Known",
    "Method",
    "Oracle",
    "Problem",
    "Progress",
    "Record",
    "RunState",
    "Solution",
    "Status",
    "Verdict",
    "load_noted_state",
    "load_state",
    "save_state",
    "solve",
    "train_module",
]
