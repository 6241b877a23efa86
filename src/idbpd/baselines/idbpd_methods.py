"""The product's solver, and the paper's Algorithm 1 with either of its two schedules."""

import math

from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.optim import IDBPD
from idbpd.optim.paper.algorithm1 import Algorithm1
from idbpd.optim.paper.schedules import TheoremConstraintSteps, theorem_barrier, theorem_step_size

# The paper's grid.
GAMMAS = (1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 1e-2)
ALPHAS = (0.1, 0.2, 0.5, 1.0)


def _paper(gamma: float = 1e-3, alpha: float = 1.0) -> Algorithm1:
    """The schedules of the experiments: gamma_k = gamma and alpha_k = alpha / (k + 2)^1.001."""
    return IDBPD.paper(gamma=gamma, alpha=alpha)


def _theorem2(horizon: int = 3000, factor: float = 1.0, largest: float = math.inf, theta: float = 0.5) -> Algorithm1:
    """Theorem 2's schedules for a run of ``horizon`` steps: gamma = min(factor / T^(1/3), largest)."""
    return IDBPD.paper(
        gamma=theorem_step_size(horizon, factor, largest),
        alpha=theorem_barrier(horizon),
        constraint_steps=TheoremConstraintSteps(horizon, theta),
    )


ENTRIES = (
    MethodEntry(
        "idbpd",
        IDBPD,
        options={"preconditioner": Option(True, bool)},
        look=Look("idbpd (this project)", "#000000", width=2.0),
        figures=("kkt", "weights"),
    ),
    MethodEntry(
        "idbpd_paper",
        _paper,
        options={"gamma": Option(1e-3, above=0), "alpha": Option(1.0, above=0)},
        grid={"gamma": GAMMAS, "alpha": ALPHAS},
        look=Look("iDB-PD, the paper's grid", "#0072b2"),
        figures=("kkt", "weights"),
    ),
    MethodEntry(
        "idbpd_theorem2",
        _theorem2,
        options={"horizon": Option(None, int, at_least=1), "factor": Option(1.0, above=0)},  # None: the run's max_steps
        grid={"factor": (1e-2, 1e-1, 1.0)},
        look=Look("iDB-PD, Theorem 2", "#56b4e9", "--"),
    ),
)
