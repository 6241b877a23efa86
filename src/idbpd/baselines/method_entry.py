"""All that the project needs to know of a method: how it is made, what people set, and how it is drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, final

from idbpd.optim.method import Method

Figure = Literal["kkt", "weights"]


class Look(NamedTuple):
    """How a method is drawn: told apart by colour on a screen and by dashes in print."""

    label: str
    color: str
    dashes: str | tuple[float, tuple[float, ...]] = "-"
    width: float = 1.3


@final
@dataclass(frozen=True)
class Option:
    """An option that people set as ``methods.<name>.<option>``, with its type and its limits."""

    default: Any
    kind: type = float
    above: float | None = None
    at_least: float | None = None


@final
@dataclass(frozen=True)
class MethodEntry:
    """A method by the name under which its runs are tracked.

    ``make`` is called with options by name and raises a ValueError for a value without meaning. It may take more
    options than people can set. ``grid`` has the values of each option that a comparison tries, in all combinations. A
    method without a ``look`` is drawn in grey under its name.
    """

    name: str
    make: Callable[..., Method[Any]]
    options: Mapping[str, Option] = field(default_factory=dict)
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    look: Look | None = None
    # The paper's Experiment 1 compares by the KKT residuals, Experiment 2 with fixed weightings of the constraint.
    figures: tuple[Figure, ...] = ("kkt",)
    needs_weights: bool = False  # the worst weights of single samples, which a run on ranks does not have
