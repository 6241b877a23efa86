"""The safeguards of the default solver, each with the change of a few lines that switches it off while it runs."""

import inspect
import math
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest import mock

import torch

# Where the safeguards are.
from idbpd.optim.inner import maximise, newton
from idbpd.optim.kinks import bundle
from idbpd.optim.qp import few_unknowns
from idbpd.optim.quasi_newton import arc_search, lbfgs, merit, method, penalty, phases, restoration

PACKAGE = "idbpd.optim"
NEVER = 10**9


class Off:
    """Changes that are undone together."""

    def __init__(self, stack: ExitStack) -> None:
        """Undo everything when ``stack`` closes."""
        self._stack = stack

    def constant(self, module: ModuleType, name: str, value: object) -> None:
        """Give a constant of a module another value."""
        assert hasattr(module, name), f"{module.__name__} has no {name}"
        self._stack.enter_context(mock.patch.object(module, name, value))

    def text(self, owner: ModuleType | type, name: str, old: str, new: str) -> None:
        """Put ``new`` in place of the only ``old`` in the source of a function or method."""
        function: FunctionType = inspect.getattr_static(owner, name)
        source: str = getattr(function, "source", "") or textwrap.dedent(inspect.getsource(function))
        if source.count(old) != 1:
            raise LookupError(f"{owner.__name__}.{name} has {source.count(old)} times: {old}")
        made: dict[str, Any] = {}
        source = source.replace(old, new)
        exec(compile(source, f"<{name} without a safeguard>", "exec"), function.__globals__, made)
        made[name].source = source  # for the next change of the same function
        self.function(owner, name, made[name])

    def function(self, owner: ModuleType | type, name: str, instead: Callable[..., Any]) -> None:
        """Put a function in place of another, wherever the package has imported it."""
        old = inspect.getattr_static(owner, name)
        holders: list[Any] = [owner]
        holders += [module for known, module in list(sys.modules.items()) if known.startswith(PACKAGE)]
        for holder in holders:
            for label, value in list(vars(holder).items()):
                if value is old:
                    self._stack.enter_context(mock.patch.object(holder, label, instead))


class Switch(NamedTuple):
    """A safeguard that can be switched off."""

    name: str
    description: str  # what happens without it
    switch_off: Callable[[Off], None]
    data: bool = False  # whether it can matter for a multi-task problem, which has no kinks and no inner ascent
    kinks: bool = False  # whether it can only matter at a kink


def _text(owner: ModuleType | type, name: str, old: str, new: str) -> Callable[[Off], None]:
    return lambda off: off.text(owner, name, old, new)


def _constant(module: ModuleType, name: str, value: object) -> Callable[[Off], None]:
    return lambda off: off.constant(module, name, value)


def _no_value_errors(off: Off) -> None:
    off.function(merit, "value_errors", lambda evaluation, _: torch.zeros_like(evaluation.error))


def _no_damping(off: Off) -> None:
    damped = "torch.where(sy < _DAMPING * sBs, (1 - _DAMPING) * sBs / (sBs - sy), 1.0)"
    off.text(lbfgs, "learn_pair", damped, "torch.ones_like(sy)")
    off.text(lbfgs, "learn_pair", "& (sBs > 0) & sy.isfinite()", "& (sy > 1e-8 * (ss * yy).sqrt()) & sy.isfinite()")
    off.text(lbfgs, "learn_pair", "torch.maximum(sy, _DAMPING * sBs)", "sy")


def _no_restoration(off: Off) -> None:
    off.function(phases, "when_hopeless", lambda state: state)
    off.text(phases, "leave_infeasible", "begin_restoration(state)", "displace(oracle, state)")


def _no_newton(off: Off) -> None:
    off.constant(maximise, "SMALL", -1)
    off.constant(maximise, "MEDIUM", -1)


_REFINED = "[s + a for s, a in zip(solved[:m], again[:m], strict=True)]"
_TOO_LOW = "_margin(found.g - point.g - model.foreseen_change(found.proposal, point.g)[1:], equalities)"
_LEARNT = "kept, memory)"

SWITCHES = [
    # Of the search.
    Switch("second_order_correction", "a first trial that curvature spoils is only shortened",
           _text(arc_search, "search", "if refused == 0 else None", "if refused < 0 else None"), data=True),
    Switch("credit", "a step that violates more is credited with any fall of f",
           _text(arc_search, "_trial_merit", "f = max(f, point.f + _CREDIT * proposal.slope)", "pass"), data=True),
    Switch("trust_the_model", "a trial whose gain rounding hides is refused",
           _constant(arc_search, "_HIDDEN", 0.0), data=True),
    Switch("parabola", "a refused trial is halved",
           lambda off: off.function(arc_search, "_shrinkage", lambda *_: 0.5), data=True),
    Switch("first_length", "every search begins with a full step", _constant(method, "_LONGER", math.inf), data=True),
    Switch("margin", "no margin for the curvature of constraints",
           _text(method.IDBPD, "_move", _TOO_LOW, "torch.zeros_like(point.g)"), data=True),
    Switch("reset_metric", "a search that finds nothing is not repeated without the learnt metric",
           _text(method.IDBPD, "step", "state.in_metric.metric.steps.shape[0] == 0", "True"), data=True),
    # Of the penalty.
    Switch("steps_are_short", "only a huge penalty leads to restoration, however short the steps",
           _constant(method, "_SHORT", -1.0), data=True),
    Switch("patience", "restoration comes without a second try with a small penalty",
           _text(phases, "when_hopeless", "if state.penalty.is_patient:", "if True:"), data=True),
    Switch("penalty_decrease", "the penalty is never lowered",
           _text(penalty, "choose_penalty", "if now <= tolerance and", "if False and"), data=True),
    Switch("value_errors", "no allowance for rounding in the merit function", _no_value_errors, data=True),
    # Of restoration.
    # Not on data: a run without it may stand still for ever, and is ended there by evaluations alone.
    Switch("restoration", "the violation is never minimised alone", _no_restoration),
    Switch("displacement", "a point without descent of the violation ends the run",
           _constant(restoration, "ATTEMPTS", 0), data=True),
    Switch("hidden_end", "a run whose gains rounding hides goes on",
           _constant(phases, "_HIDDEN_STEPS", NEVER), data=True),
    Switch("idle_end", "a run that gains nothing goes on", _constant(phases, "_IDLE_STEPS", NEVER)),
    # Of the metric.
    Switch("damping", "a pair without clear curvature is skipped instead of damped", _no_damping, data=True),
    Switch("unseen", "a change of gradient that is rounding is taken for curvature",
           _text(lbfgs, "learn_pair", "20 * torch.finfo(v.dtype).eps * size", "0 * size"), data=True),
    Switch("memory_10", "10 pairs instead of 50",
           _text(lbfgs, "learn_pair", _LEARNT, "kept, min(memory, 10))"), data=True),
    # Of small quadratic programs.
    Switch("refinement", "systems are solved once", _text(few_unknowns, "_free_minimiser", _REFINED, "solved[:m]")),
    Switch("scaling", "unknowns of different size are not brought to one",
           _text(few_unknowns, "minimise_few", "math.sqrt(d) if d > 0 else 1.0", "1.0")),
    # Of kinks.
    Switch("kinks", "one worst case per term", lambda off: off.function(arc_search, "_look", lambda *_: None)),
    Switch("explained", "any worst case of a refused trial becomes a row",
           _constant(bundle, "_EXPLAINED", -math.inf), kinks=True),
    Switch("null_steps", "the arc is not shortened, however many rows were added",
           _constant(phases, "_NULL_STEPS", NEVER), kinks=True),
    Switch("first_row_resets", "the metric stays when the first row is added",
           _text(phases, "add_row", "if state.bundle is None:", "if False:"), kinks=True),
    Switch("forgotten_rows", "rows are never forgotten", _constant(bundle, "_UNUSED", NEVER), kinks=True),
    Switch("have_moved", "a worst case that moved counts as another one",
           lambda off: off.function(bundle.Bundle, "have_moved", lambda *given: [False] * len(given[-1])), kinks=True),
    Switch("second_probe", "concavity between two worst cases is tested in the middle only",
           _constant(bundle, "_WAY", (0.5,)), kinks=True),
    Switch("distinct", "a certificate counts with worst cases that have merely moved",
           lambda off: off.function(bundle.Bundle, "distinct", lambda *given: given[0]), kinks=True),
    Switch("only_maximiser", "a strict quadratic is not known to have one worst case",
           _text(bundle.Bundle, "distinct", "self.terms[row] not in single and", ""), kinks=True),
    Switch("strictness", "worst cases that nearly attain the maximum carry weight",
           lambda off: off.text(phases, "assess", "strictness: float = STRICTNESS", "strictness: float = 1.0"),
           kinks=True),
    Switch("recheck", "no second maximisation from a remembered worst case that is worse",
           _constant(phases, "_RISEN", math.inf), kinks=True),
    Switch("peaks", "only the highest worst case of each term becomes a row",
           lambda off: off.function(method, "with_peaks", lambda bundle, *_: (bundle, list(range(len(bundle.terms))))),
           kinks=True),
    Switch("second_derivatives", "the metric is learnt where the Hessian is known, too",
           lambda off: off.function(method, "exact_metric", lambda *_: None), kinks=True),
    # Of inner maxima.
    Switch("newton_ascent", "first-order ascent only", _no_newton),
    Switch("global_search", "no search for a higher peak",
           lambda off: off.function(maximise, "can_search", lambda *_: False)),
    Switch("polish", "a maximiser is as exact as its value",
           lambda off: off.function(newton, "_polish", lambda *given: given[-1])),
    # Of devices.
    Switch("speculative_trial", "no trial is evaluated before its search",
           _text(method.IDBPD, "_go", 's.device.type != "cpu"', "False")),
]  # fmt: skip


@contextmanager
def without(switch: Switch | None) -> Iterator[None]:
    """The solver without one safeguard; as it is, for None."""
    with ExitStack() as stack:
        if switch is not None:
            switch.switch_off(Off(stack))
        yield
