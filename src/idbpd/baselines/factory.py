"""Methods by the names under which runs are tracked."""

import inspect
import itertools
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from idbpd.baselines.method_entry import MethodEntry
from idbpd.baselines.registry import ENTRIES
from idbpd.errors import ConfigurationError
from idbpd.optim.method import Method

METHODS: dict[str, MethodEntry] = {entry.name: entry for entry in ENTRIES}


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method[Any]:
    """The method that is tracked as ``name``, ready for `idbpd.optim.solve`; ``options`` change its defaults.

    >>> make_method("gdma_rho2", {"gamma": 0.01}).rho
    2
    """
    if name not in METHODS:
        close = get_close_matches(name, METHODS, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ";"
        raise ConfigurationError(f"unknown method {name!r}{meant} methods are {', '.join(METHODS)}")
    known = method_options(name)
    for option in options or {}:
        if option not in known:
            choices = ", ".join(known) or "none"
            raise ConfigurationError(f"method {name!r} has no option {option!r}; its options are: {choices}")
    try:
        return METHODS[name].make(**dict(options or {}))
    except ValueError as error:
        raise ConfigurationError(f"method {name!r}: {error}") from error


def method_options(name: str) -> dict[str, Any]:
    """The options of a method with their defaults."""
    parameters = inspect.signature(METHODS[name].make).parameters
    # How often the loop looks at the numbers does not change them.
    return {option: p.default for option, p in parameters.items() if option != "check_every"}


def grid(name: str) -> list[dict[str, float]]:
    """Every combination of options that a comparison tries of a method; one empty one where nothing needs tuning.

    >>> len(grid("idbpd_paper")), grid("idbpd")
    (24, [{}])
    """
    axes = METHODS[name].grid
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
