"""Methods by the names under which runs are tracked."""

import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from idbpd.baselines.cooper_adam import CooperAdam
from idbpd.baselines.discretization import Discretization
from idbpd.baselines.gdma import GDMA
from idbpd.errors import ConfigurationError
from idbpd.optim import IDBPD
from idbpd.optim.method import Method
from idbpd.optim.paper.algorithm1 import Algorithm1
from idbpd.optim.paper.schedules import TheoremConstraintSteps, theorem_barrier, theorem_step_size

GAMMAS = (1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 1e-2)
ALPHAS = (0.1, 0.2, 0.5, 1.0)
RHOS = (1, 2, 5, 10)


def _paper(gamma: float = 1e-3, alpha: float = 1.0) -> Algorithm1:
    return IDBPD.paper(gamma=gamma, alpha=alpha)


def _theorem2(horizon: int = 3000, factor: float = 1.0, largest: float = math.inf, theta: float = 0.5) -> Algorithm1:
    """Theorem 2's schedules for a run of ``horizon`` steps: gamma = min(factor / T^(1/3), largest)."""
    return IDBPD.paper(
        gamma=theorem_step_size(horizon, factor, largest),
        alpha=theorem_barrier(horizon),
        constraint_steps=TheoremConstraintSteps(horizon, theta),
    )


_MAKERS: dict[str, Callable[..., Method[Any]]] = {
    "idbpd": IDBPD,
    "idbpd_paper": _paper,
    "idbpd_theorem2": _theorem2,
    **{f"gdma_rho{rho}": partial(GDMA, rho) for rho in RHOS},
    "discretization_cooper": Discretization,
    "cooper_adam": CooperAdam,
}
METHODS: tuple[str, ...] = tuple(_MAKERS)

# What a fair comparison tries of each method. The paper gives the first; it does not say how its competitors were
# tuned, so they get the same step sizes, and Cooper the learning rates that its authors advise and their neighbours.
_RATES: dict[str, tuple[float, ...]] = {"primal_rate": (1e-3, 3e-3, 1e-2, 3e-2), "dual_rate": (1e-3, 1e-2, 1e-1, 1.0)}
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "idbpd_paper": {"gamma": GAMMAS, "alpha": ALPHAS},
    "idbpd_theorem2": {"factor": (1e-2, 1e-1, 1.0)},
    **{f"gdma_rho{rho}": {"gamma": GAMMAS} for rho in RHOS},
    "discretization_cooper": _RATES,
    "cooper_adam": _RATES,
}


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method[Any]:
    """The method that is tracked as ``name``, ready for `idbpd.optim.solve`; ``options`` change its defaults.

    >>> make_method("gdma_rho2", {"gamma": 0.01}).rho
    2
    """
    if name not in _MAKERS:
        close = get_close_matches(name, METHODS, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ";"
        raise ConfigurationError(f"unknown method {name!r}{meant} methods are {', '.join(METHODS)}")
    known = method_options(name)
    for option in options or {}:
        if option not in known:
            choices = ", ".join(known) or "none"
            raise ConfigurationError(f"method {name!r} has no option {option!r}; its options are: {choices}")
    try:
        return _MAKERS[name](**dict(options or {}))
    except ValueError as error:
        raise ConfigurationError(f"method {name!r}: {error}") from error


def method_options(name: str) -> dict[str, Any]:
    """The options of a method with their defaults."""
    # How often the loop looks is no part of a method, and rho is in the name.
    fixed = ("check_every", "rho")
    parameters = inspect.signature(_MAKERS[name]).parameters
    return {option: p.default for option, p in parameters.items() if option not in fixed}


def grid(name: str) -> list[dict[str, float]]:
    """Every combination of options that a comparison tries of a method; one empty one where nothing needs tuning.

    >>> len(grid("idbpd_paper")), grid("idbpd")
    (24, [{}])
    """
    axes = GRIDS.get(name, {})
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
