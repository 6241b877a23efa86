"""The problem a user states: a worst-case objective under worst-case constraints, as plain torch functions."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor

from idbpd.optim.sets import ConvexSet
from idbpd.optim.stated_bounds import PerVariable

Function = Callable[..., Tensor]
Equality = Callable[[Any], Tensor]  # from x, in the shape of x0, to what shall be zero
Maximiser = Callable[[Any], Tensor]  # from x, in the shape of x0, to a point of the set


@final
@dataclass(frozen=True)
class Constraint:
    """The demand ``psi(x, w) <= 0`` for all ``w`` in the set ``over``; ``psi(x) <= 0`` when ``over`` is None.

    ``concave`` states that psi is concave in w, ``maximise`` is a function of x that returns a worst w. Both are for a
    psi of which torch's operations do not show it: see docs/solver.md.
    """

    psi: Function
    over: ConvexSet | None = None
    concave: bool = False
    maximise: Maximiser | None = None

    def __post_init__(self) -> None:
        """Reject what could only fail later and further away."""
        _check_term("psi", self.psi, self.over)
        _check_words(self.over, self.concave, self.maximise)


@final
@dataclass(frozen=True)
class Problem:
    """min over x of max over y of ``objective(x, y)``, subject to ``constraints``, ``equalities`` and ``bounds``.

    ``objective`` is ``phi(x, y)``, or ``phi(x)`` when ``over`` is None; it returns a tensor with one element,
    differentiable in both. ``x`` arrives in the shape of the ``x0`` given to `solve`, as a tensor or a dict of named
    tensors. ``concave`` and ``maximise`` are for y what those of a `Constraint` are for w.

    ``equalities`` are functions ``h(x)`` that shall be zero, each a tensor with one or more entries. ``bounds`` is
    ``(low, high)`` for x itself, each a number, a tensor in the shape of x0, a dict with some of its names, or None;
    an infinite entry leaves a variable free. All points that are evaluated are within the bounds.
    """

    objective: Function
    over: ConvexSet | None = None
    constraints: Sequence[Constraint] = ()
    concave: bool = False
    maximise: Maximiser | None = None
    equalities: Sequence[Equality] = ()
    bounds: tuple[PerVariable, PerVariable] | None = None

    def __post_init__(self) -> None:
        """Reject what could only fail later and further away."""
        _check_term("objective", self.objective, self.over)
        _check_words(self.over, self.concave, self.maximise)
        if isinstance(self.constraints, Constraint):
            raise TypeError(
                "constraints must be a sequence, got a single Constraint; write constraints=[Constraint(...)]"
            )
        for i, constraint in enumerate(self.constraints):
            if not isinstance(constraint, Constraint):
                raise TypeError(f"constraints[{i}] must be a Constraint, got {type(constraint).__name__}")
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(self, "equalities", _checked_equalities(self.equalities))
        if self.bounds is not None:
            if not isinstance(self.bounds, list | tuple) or len(self.bounds) != 2:
                raise TypeError(f"bounds must be a pair (low, high) for x, got {self.bounds!r}")
            object.__setattr__(self, "bounds", tuple(self.bounds))


def _checked_equalities(equalities: object) -> tuple[Equality, ...]:
    if callable(equalities):
        raise TypeError("equalities must be a sequence, got a single function; write equalities=[h]")
    if not isinstance(equalities, Sequence):
        raise TypeError(f"equalities must be a sequence of functions of x, got {type(equalities).__name__}")
    for i, h in enumerate(equalities):
        if isinstance(h, Constraint):
            raise TypeError(f"equalities[{i}] must be a function h(x), got a Constraint; an equality has no set")
        _check_term(f"equalities[{i}]", h, None)
    return tuple(equalities)


def _check_term(name: str, function: object, over: object) -> None:
    if not callable(function):
        raise TypeError(f"{name} must be a function, got {type(function).__name__}")
    if callable(over):
        raise TypeError(
            "over must be a fixed set, got a function; for a set that depends on x, write w = a(x) + B(x) u inside of "
            f"{name}, and let u be in a fixed set"
        )
    if isinstance(over, (list, tuple)):
        raise TypeError(
            f"over must be one set, got a {type(over).__name__}; write Product(a, b, ...), or one Box for boxes"
        )
    if over is not None and not isinstance(over, ConvexSet):
        known = "a set such as Simplex(n), Box(low, high), Ball(center, radius) or Space(n), or None"
        raise TypeError(f"over must be {known}, got {type(over).__name__}")
    wanted = ("x",) if over is None else ("x", "a point of the set")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # some functions written in C do not tell
    try:
        signature.bind(*wanted)
    except TypeError:
        where = "without a set (over=None)" if over is None else f"over {type(over).__name__}"
        raise TypeError(f"{name} {where} is called with ({', '.join(wanted)}), but takes {signature}") from None


def _check_words(over: object, concave: object, maximise: object) -> None:
    if not isinstance(concave, bool):
        raise TypeError(f"concave must be True or False, got {concave!r}")
    if maximise is not None and not callable(maximise):
        raise TypeError(f"maximise must be a function of x that returns a point of the set, got {maximise!r}")
    if over is None and (concave or maximise is not None):
        raise ValueError("concave and maximise speak of a set to maximise over, but over is None")
