"""The safeguards of the default solver, each with the change of a few lines that switches it off while it runs."""

import importlib
import inspect
import math
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest import mock

import torch

# Where the safeguards are.
from idbpd.optim import bounds, final_answer, scale_choice
from idbpd.optim.inner import (
    branch_and_bound,
    first_order,
    global_maximum,
    known_numbers,
    maximise,
    newton,
    number_curvature,
    term_maxima,
)
from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.kinks import bundle, certificate, peaks
from idbpd.optim.qp import few_unknowns
from idbpd.optim.quasi_newton import (
    arc_search,
    bounded_steps,
    few_bounds,
    known_metric,
    lbfgs,
    merit,
    method,
    penalty,
    penalty_model,
    phases,
)

PACKAGE = "idbpd.optim"
NEVER = 10**9


solve = importlib.import_module("idbpd.optim.solve")  # the name in the package is that of the function


class Off:
    """Changes that are undone together."""

    def __init__(self, stack: ExitStack) -> None:
        """Undo everything when ``stack`` closes."""
        self._stack = stack

    def attribute(self, holder: Any, name: str, value: object) -> None:
        """Give an attribute another value."""
        self._stack.enter_context(mock.patch.object(holder, name, value, create=True))

    def constant(self, module: ModuleType, name: str, value: object) -> None:
        """Give a constant of a module another value."""
        assert hasattr(module, name), f"{module.__name__} has no {name}"
        self.attribute(module, name, value)

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
                    self.attribute(holder, label, instead)


@dataclass(frozen=True)
class Expression:
    """An expression of a function with another one in its place."""

    owner: ModuleType | type
    name: str
    old: str
    new: str

    def __call__(self, off: Off) -> None:
        """Replace it."""
        off.text(self.owner, self.name, self.old, self.new)

    def watch(self, off: Off, note: Callable[[], None]) -> None:
        """Leave it, and note where the other one has another value."""
        weigh = f"_weigh_{id(note)}"
        function: FunctionType = inspect.getattr_static(self.owner, self.name)
        off.attribute(sys.modules[function.__module__], weigh, partial(_weigh, note))
        off.text(self.owner, self.name, self.old, f"{weigh}(lambda: ({self.old}), lambda: ({self.new}))")


@dataclass(frozen=True)
class Instead:
    """A function with another one in its place."""

    owner: ModuleType | type
    name: str
    instead: Callable[..., Any]

    def __call__(self, off: Off) -> None:
        """Replace it."""
        off.function(self.owner, self.name, self.instead)

    def watch(self, off: Off, note: Callable[[], None]) -> None:
        """Leave it, and note where the other one returns something else."""
        old, instead = inspect.getattr_static(self.owner, self.name), self.instead

        def both(*args: Any, **kwargs: Any) -> Any:
            return _weigh(note, lambda: old(*args, **kwargs), lambda: instead(*args, **kwargs))

        off.function(self.owner, self.name, both)


def _weigh(note: Callable[[], None], old: Callable[[], Any], new: Callable[[], Any]) -> Any:
    found = old()
    try:
        is_same = _is_same(found, new())
    except Exception:
        is_same = False
    if not is_same:
        note()
    return found


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return one is other or bool(one == other)


class Switch(NamedTuple):
    """A safeguard that can be switched off."""

    name: str
    description: str  # what happens without it
    switch_off: Callable[[Off], None]
    groups: tuple[str, ...]  # of small problems, on which it can matter
    data: bool = False  # whether it can matter for a multi-task problem, which has no kinks and no inner ascent


def _text(owner: ModuleType | type, name: str, old: str, new: str) -> Callable[[Off], None]:
    """A change of text that is no expression: what it would change cannot be watched."""
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


def _nothing_freed(off: Off) -> None:
    off.constant(bounded_steps, "ROUNDS", 0)
    off.constant(few_bounds, "ROUNDS", 0)


def _unknown(f: InnerFunction, _: object, start: torch.Tensor) -> Maximum:
    return Maximum.at(f.local(start), math.inf)


def _no_separate_parts(off: Off) -> None:
    off.function(global_maximum, "separate_parts", lambda _, low, __: [list(range(low.numel()))])


_REFINED = "[s + a for s, a in zip(solved[:m], again[:m], strict=True)]"
_TOO_LOW = "_margin(found.g - point.g - model.foreseen_change(found.proposal, point.g)[1:], equalities)"
_INNER = "inner if inner.reduction >= 0.5 * plain.reduction else plain"
_WARM = "here.maximisers if bundle is None else bundle.best(bundle.values + proposal.change, here.maximisers)"
_PAIR_SCALE = "torch.where(sy > 1e-8 * (ss * yy).sqrt(), sy / bent, metric.scale)"
_HIGHER = "(bundle.raised(values) > values + _RISEN * (1 + values.abs())).any()"
_NEAR = "added.values + reach.cpu().double() >= torch.tensor(level, dtype=torch.float64)"
_TOO_LARGE = "now <= max(tolerance, allowed) and mu > 1e3 * max(needed, 1e-3 * natural)"
_UPDATED = "metric.updated(step.s, y, torch.maximum(sy, _DAMPING * sBs), scale, kept, memory)"
_HIDES = "before - new >= -_HIDDEN * noise and proposal.reduction <= _HIDDEN * noise"
_FAIR = "is_patient and now - proposal.violation >= _FAIR_SHARE * min(now, length * steepest**0.5)"
_NOT_YET = "penalty.is_patient and penalty.since_milestone <= _STAGNATION"
_RISING = "min(1.5 * needed, 10 * mu)"
_FIRST_SCALE = "reset_metric(state, restoration.first_scale(state.point, state.initial))"
_GAPS = "strictness * number((certificate.weights * gaps).amax()) > tolerance"
_OF_ROUNDING = "tolerance / (_ROUNDINGS * max(*value_errors, 1e-300))"

SMOOTH = ("float64", "float32", "infeasible", "random", "bounds")
KINKS = ("kinks", "tensors", "semi_infinite")
EVERYWHERE = ("float64", "float32", "kinks", "tensors", "infeasible", "random", "bounds", "semi_infinite")
WORST_CASES = ("float64", "kinks", "tensors", "semi_infinite")
VERIFIED = ("semi_infinite", "hidden")
BOUNDS = ("bounds",)
UNITS = ("units",)

SWITCHES = [
    # Of the search.
    Switch(
        "second_order_correction",
        "a first trial that curvature spoils is only shortened",
        Expression(
            arc_search, "search", "_corrected(oracle, start, proposal, trial) if refused == 0 else None", "None"
        ),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "correction_at_kinks",
        "of the objective's rows, curvature is not corrected",
        Expression(arc_search, "_corrected", "is_spoilt or model.objective_rows > 1", "is_spoilt"),
        KINKS,
    ),
    Switch(
        "correction_moves",
        "a correction leaves rows where they are",
        Expression(arc_search, "_corrected", "moved_points(bundle, oracle, there)", "bundle.points"),
        KINKS,
    ),
    Switch(
        "warm_starts",
        "inner maxima begin at the last worst case, not at the one that the model expects",
        Expression(arc_search, "_trial", _WARM, "here.maximisers"),
        KINKS,
    ),
    Switch(
        "credit",
        "a step that violates more is credited with any fall of f",
        Expression(arc_search, "_trial_merit", "max(f, point.f + _CREDIT * proposal.slope)", "f"),
        SMOOTH,
        data=True,
    ),
    Switch(
        "trust_the_model",
        "a trial whose gain rounding hides is refused",
        Expression(arc_search, "search", _HIDES, "False"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "parabola",
        "a refused trial is halved",
        Instead(arc_search, "_shrinkage", lambda *_: 0.5),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "first_length",
        "every search begins with a full step",
        Expression(method.IDBPD, "_move", "min(1.0, _LONGER * found.proposal.t)", "1.0"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "margin",
        "no margin for the curvature of constraints",
        Expression(method.IDBPD, "_move", _TOO_LOW, "torch.zeros_like(point.g)"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "margin_pays",
        "the margin is asked for whatever it costs",
        Expression(penalty_model.PenaltyModel, "propose", _INNER, "inner"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "model_rounding",
        "what the model says is taken at face value, however its terms cancel",
        _constant(penalty_model, "_ROUNDINGS", 0.0),
        EVERYWHERE,
    ),
    Switch(
        "edge",
        "a trial with finite values but no finite gradient ends the search",
        Expression(method.IDBPD, "_move", "0.2 * found.proposal.t", "0.0"),
        EVERYWHERE,
    ),
    Switch(
        "reset_metric",
        "a search that finds nothing is not repeated without the learnt metric",
        Expression(method.IDBPD, "step", "state.in_metric.metric.steps.shape[0] > 0", "False"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "rows_at_last",
        "rows that leave no descent and give no certificate stay",
        Expression(method.IDBPD, "step", "may_forget_rows(state)", "False"),
        KINKS,
    ),
    Switch(
        "reset_at_kinks",
        "the metric stays after a step with several rows that gains nothing",
        Expression(method.IDBPD, "_move", "bundle is not None and not gained", "False"),
        KINKS,
    ),
    # Of the penalty.
    Switch(
        "steps_are_short",
        "only a huge penalty leads to restoration, however short the steps",
        Expression(method.IDBPD, "_move", "state.t < _SHORT", "False"),
        SMOOTH,
        data=True,
    ),
    Switch(
        "patience",
        "restoration comes without a second try with a small penalty",
        Expression(phases, "when_hopeless", "state.penalty.is_patient", "True"),
        SMOOTH,
        data=True,
    ),
    Switch(
        "fair_share",
        "a patient penalty rises as an ordinary one",
        Expression(penalty, "choose_penalty", _FAIR, "False"),
        SMOOTH,
        data=True,
    ),
    Switch(
        "stagnation",
        "patience does not end",
        Expression(penalty, "choose_penalty", _NOT_YET, "penalty.is_patient"),
        SMOOTH,
        data=True,
    ),
    Switch(
        "tenfold",
        "the penalty rises at once, not tenfold at most",
        Expression(penalty, "choose_penalty", _RISING, "1.5 * needed"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "penalty_decrease",
        "the penalty is never lowered",
        Expression(penalty, "choose_penalty", _TOO_LARGE, "False"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "leeway",
        "a violation has to fall first, however small it is next to the other residuals",
        _constant(penalty, "_LEEWAY", 0.0),
        EVERYWHERE,
        data=True,
    ),
    Switch("value_errors", "no allowance for rounding in the merit function", _no_value_errors, EVERYWHERE, data=True),
    # Of restoration.
    # Not on data: a run without it may stand still for ever, and is ended there by evaluations alone.
    Switch("restoration", "the violation is never minimised alone", _no_restoration, SMOOTH),
    Switch(
        "restoration_scale",
        "restoration begins in the scale of the metric before it",
        Expression(phases, "begin_restoration", _FIRST_SCALE, "reset_metric(state)"),
        SMOOTH,
    ),
    Switch(
        "displacement",
        "a point without descent of the violation ends the run",
        Expression(phases, "displace", "restoration.ATTEMPTS", "0"),
        SMOOTH,
    ),
    Switch(
        "hidden_end",
        "a run whose gains rounding hides goes on",
        Expression(phases, "after_step", "state.hidden_steps < _HIDDEN_STEPS", "True"),
        EVERYWHERE,
    ),
    Switch(
        "idle_end",
        "a run that gains nothing goes on",
        Expression(phases, "after_step", "state.idle_steps >= _IDLE_STEPS", "False"),
        EVERYWHERE,
    ),
    # Of the metric.
    Switch(
        "initial_metric",
        "L-BFGS begins with a multiple of the identity on networks, too",
        Instead(known_metric, "metric_to_begin_with", lambda *_: None),
        (),
        data=True,
    ),
    Switch(
        "refresh",
        "the metric of the layers stays that of the start",
        Instead(known_metric, "refreshed", lambda _, metric, *__: metric),
        (),
        data=True,
    ),
    Switch(
        "turn_away",
        "where rounding stops a run in the metric of the layers, it ends",
        Expression(phases, "after_step", "state.initial is not None", "False"),
        (),
        data=True,
    ),
    Switch(
        "pair_scale",
        "the scale of L-BFGS stays that of the start",
        Expression(lbfgs, "learn_pair", _PAIR_SCALE, "metric.scale"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "damping", "a pair without clear curvature is skipped instead of damped", _no_damping, EVERYWHERE, data=True
    ),
    Switch(
        "unseen",
        "a change of gradient that is rounding is taken for curvature",
        Expression(lbfgs, "learn_pair", "yy <= blur", "yy <= 0 * blur"),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "memory_10",
        "10 pairs instead of 50",
        Expression(lbfgs, "learn_pair", _UPDATED, _UPDATED.replace("memory", "min(memory, 10)")),
        EVERYWHERE,
        data=True,
    ),
    Switch(
        "second_derivatives",
        "the metric is learnt where the Hessian is known, too",
        Instead(method, "exact_metric", lambda *_: None),
        EVERYWHERE,
    ),
    Switch(
        "moving_worst_case",
        "the Hessian of a maximum is that at a fixed worst case",
        Expression(number_curvature.TermCurvature, "at", "not bool(C.any())", "True"),
        WORST_CASES,
    ),
    Switch(
        "flat_directions",
        "an exact metric is at most 1",
        Instead(method, "next_flat", lambda flat, *_: flat),
        EVERYWHERE,
    ),
    Switch(
        "downwards",
        "curvature downwards is taken for none",
        Expression(lbfgs, "newton", "values.abs()", "values.clamp(min=0.0)"),
        EVERYWHERE,
    ),
    Switch(
        "learnt_in_restoration",
        "the metric is exact while the violation is minimised alone, too",
        Expression(method.IDBPD, "_learn", "state.phase is Phase.DESCENT and bounds is None", "bounds is None"),
        EVERYWHERE,
    ),
    # Of small quadratic programs.
    Switch(
        "refinement",
        "systems are solved once",
        Expression(few_unknowns, "_free_minimiser", _REFINED, "solved[:m]"),
        EVERYWHERE,
    ),
    Switch(
        "scaling",
        "unknowns of different size are not brought to one",
        Expression(few_unknowns, "minimise_few", "math.sqrt(d) if d > 0 else 1.0", "1.0"),
        EVERYWHERE,
    ),
    Switch(
        "ridge",
        "singular systems stay singular",
        Instead(few_unknowns, "ridge", lambda diagonal, *_: [0.0] * len(diagonal)),
        EVERYWHERE,
    ),
    # Of bounds on x.
    Switch(
        "learnt_within_bounds",
        "the metric is exact within bounds, too",
        Expression(
            method.IDBPD, "_learn", "state.phase is Phase.DESCENT and bounds is None", "state.phase is Phase.DESCENT"
        ),
        BOUNDS,
    ),
    Switch(
        "freed_again",
        "a variable that was held at a bound stays there during a step",
        _nothing_freed,
        BOUNDS,
    ),
    Switch(
        "settled", "multipliers are for the bounds that were guessed first", _constant(bounds, "_ROUNDS", 1), BOUNDS
    ),
    # Of kinks.
    Switch(
        "kinks",
        "no refused trial shows a further worst case",
        Instead(arc_search, "_with_rows_shown", lambda *_: None),
        ("kinks", "float64"),
    ),
    Switch(
        "explained",
        "any worst case of a refused trial becomes a row",
        Expression(
            bundle.Bundle, "grown", "explained > _EXPLAINED * trial.missed[terms]", "explained.isfinite() | True"
        ),
        KINKS,
    ),
    Switch(
        "null_steps",
        "the arc is not shortened, however many rows were added",
        Expression(phases, "add_row", "state.refused < _NULL_STEPS", "True"),
        KINKS,
    ),
    Switch(
        "first_row_resets",
        "the metric stays when the first row is added",
        Expression(phases, "add_row", "state.bundle is None", "False"),
        KINKS,
    ),
    Switch(
        "forgotten_rows",
        "rows are never forgotten",
        Expression(bundle.Bundle, "trimmed", "unused <= _UNUSED or row in first", "True"),
        KINKS,
    ),
    Switch(
        "have_moved",
        "a worst case that moved counts as another one",
        Instead(bundle.Bundle, "have_moved", lambda *given: [False] * len(given[-1])),
        KINKS,
    ),
    Switch(
        "second_probe",
        "concavity between two worst cases is tested in the middle only",
        _constant(bundle, "_WAY", (0.5,)),
        KINKS,
    ),
    Switch(
        "linear_rows",
        "worst cases of linear terms may be held for one that has moved",
        Instead(bundle, "is_linear", lambda *_: False),
        KINKS,
    ),
    Switch(
        "distinct",
        "a certificate counts with worst cases that have merely moved",
        Instead(bundle.Bundle, "distinct", lambda *given: given[0]),
        (*KINKS, "float32"),
    ),
    Switch(
        "only_maximiser",
        "a strict quadratic is not known to have one worst case",
        _text(bundle.Bundle, "distinct", "self.terms[row] not in single and", ""),
        (*KINKS, "float32"),
    ),
    Switch(
        "strictness",
        "worst cases that nearly attain the maximum carry weight",
        _text(phases, "assess", "strictness: float = STRICTNESS", "strictness: float = 1.0"),
        KINKS,
    ),
    Switch(
        "gap_check",
        "worst cases of a certificate need not attain the maximum once more",
        Expression(certificate, "best_certificate", _GAPS, "False"),
        KINKS,
    ),
    Switch(
        "gaps_of_rounding",
        "a gap counts, even if it may be rounding",
        Expression(certificate, "best_certificate", _OF_ROUNDING, "strictness"),
        (*KINKS, "float32"),
    ),
    Switch(
        "last_certificate",
        "a run that makes no progress ends without a certificate at plain strictness",
        _text(phases, "end", "tolerance, strictness=1.0)", "tolerance)"),
        KINKS,
    ),
    Switch(
        "recheck",
        "no second maximisation from a remembered worst case that is worse",
        Expression(phases, "evaluated_higher", _HIGHER, "torch.zeros((), dtype=torch.bool)"),
        KINKS,
    ),
    Switch(
        "peaks",
        "only the highest worst case of each term becomes a row",
        Instead(method, "with_peaks", lambda bundle, *_: (bundle, list(range(len(bundle.terms))))),
        WORST_CASES,
    ),
    Switch(
        "tracked",
        "rows stay where they are when x moves",
        Instead(method, "tracked", lambda bundle, *_: (bundle, list(range(len(bundle.terms))))),
        WORST_CASES,
    ),
    Switch(
        "near_peaks",
        "all peaks become rows, however low",
        Expression(peaks, "with_peaks", _NEAR, "torch.ones(len(level), dtype=torch.bool)"),
        WORST_CASES,
    ),
    Switch(
        "corners",
        "a simplex with few corners is taken as a whole, as a larger one is",
        _constant(term_maxima, "_CORNERS", 0),
        KINKS,
    ),
    Switch(
        "saddle_points",
        "corners of boxes and large simplices become rows one by one",
        Instead(phases, "with_saddle_points", lambda *_: None),
        KINKS,
    ),
    # Of inner maxima.
    Switch(
        "exact_maximum",
        "a concave quadratic is climbed like any function",
        Instead(term_maxima, "exact_maximum", _unknown),
        WORST_CASES,
    ),
    Switch(
        "numbers",
        "no term is known in single numbers",
        Instead(known_numbers, "number_term", lambda *_: None),
        ("float64", "kinks", "semi_infinite", "bounds"),
    ),
    Switch(
        "smooth_terms",
        "a term with kinks has rows that move, too",
        Expression(
            known_numbers.KnownNumbers, "_smooth_landscape", "term is not None and term.is_smooth", "term is not None"
        ),
        WORST_CASES,
    ),
    Switch("newton_ascent", "first-order ascent only", _no_newton, WORST_CASES),
    Switch(
        "rescue",
        "first-order ascent that has not arrived is the end",
        Expression(maximise, "_first_order", "start.numel() <= MEDIUM", "False"),
        WORST_CASES,
    ),
    Switch(
        "encore",
        "first-order ascent ends when the value is right",
        Expression(first_order, "spectral_ascent", "not encore", "True"),
        WORST_CASES,
    ),
    Switch(
        "global_search",
        "no search for a higher peak",
        Instead(maximise, "can_search", lambda *_: False),
        (*WORST_CASES, "hidden"),
    ),
    Switch(
        "quadratic_over_ball",
        "a quadratic over a ball is climbed on the way",
        Instead(term_maxima, "over_ball", lambda *_: None),
        (*WORST_CASES, "hidden"),
    ),
    Switch(
        "polish",
        "a maximiser is as exact as its value",
        Instead(newton, "_polish", lambda *given: given[-1]),
        WORST_CASES,
    ),
    # Of certificates.
    Switch(
        "revisit",
        "a run ends where a verification finds a higher worst case",
        Expression(solve, "solve", "revisits == _REVISITS", "True"),
        VERIFIED,
    ),
    Switch(
        "revisited_rows",
        "after a higher worst case, the model knows that one only",
        Expression(phases, "with_worse_cases", "followed[0].trimmed() if followed is not None else None", "None"),
        VERIFIED,
    ),
    Switch(
        "remembered",
        "later evaluations do not look where a verification has found a worst case",
        lambda off: off.function(term_maxima.TermMaxima, "remember", lambda *_: None),
        VERIFIED,
    ),
    Switch(
        "verified_again", "the point that is returned is verified once", _constant(final_answer, "_AGAIN", 0), VERIFIED
    ),
    Switch(
        "few_directions",
        "a function of few directions is one of all variables",
        Instead(global_maximum, "along_few_directions", lambda *_: None),
        VERIFIED,
    ),
    Switch("separate_parts", "a sum over separate variables is one function of all", _no_separate_parts, VERIFIED),
    Switch(
        "bends_down",
        "only rules of composition show that a function is concave",
        Instead(global_maximum, "_bends_down", lambda *_: False),
        VERIFIED,
    ),
    Switch(
        "second_order_bounds",
        "boxes are bounded by slopes alone",
        Instead(branch_and_bound, "separable_bounds", lambda *_: []),
        VERIFIED,
    ),
    Switch(
        "eigenvalue_bounds",
        "curvature over a box is bounded by rows alone",
        Expression(branch_and_bound, "separable_bounds", "n > 1 and bool(is_finite.any())", "False"),
        VERIFIED,
    ),
    Switch(
        "boundary_multiplier",
        "bounds do not know the multiplier of a sphere or of a sum",
        Expression(
            branch_and_bound._Search, "_take", "_Multiplier(curvature, slope, domain)", "_Multiplier(0.0, 0.0, domain)"
        ),
        VERIFIED,
    ),
    Switch(
        "monotone_boxes",
        "boxes are not reduced along axes where the function rises",
        Expression(branch_and_bound._Search, "bounds", "self.domain.is_box", "False"),
        VERIFIED,
    ),
    Switch(
        "enough",
        "a verification goes on after it has found a higher worst case",
        _text(branch_and_bound, "branch_and_bound", "and search.value <= enough", ""),
        VERIFIED,
    ),
    # Of units.
    Switch("units_of_functions", "tiny functions are not scaled", _constant(scale_choice, "_TINY", 0.0), UNITS),
    Switch(
        "looks_around",
        "a function is judged by its slope at the start alone",
        _constant(scale_choice, "_PROBES", 0),
        UNITS,
    ),
    Switch(
        "units_of_variables",
        "variables are not scaled",
        Instead(scale_choice, "_sizes_of_variables", lambda *_: None),
        UNITS,
    ),
    # Of devices.
    Switch(
        "speculative_trial",
        "no trial is evaluated before its search",
        _text(method.IDBPD, "_learn", 's.device.type != "cpu"', "False"),
        ("waits",),
    ),
]


@contextmanager
def without(switch: Switch | None) -> Iterator[None]:
    """The solver without one safeguard; as it is, for None."""
    with ExitStack() as stack:
        if switch is not None:
            switch.switch_off(Off(stack))
        yield


@contextmanager
def watched(fired: set[str]) -> Iterator[None]:
    """The solver as it is; the names of switches that would have made a difference somewhere are added to ``fired``."""
    with ExitStack() as stack:
        off = Off(stack)
        # Texts first: a function in place of another has no text of its own.
        for kind in (Expression, Instead):
            for switch in SWITCHES:
                if isinstance(switch.switch_off, kind):
                    switch.switch_off.watch(off, partial(fired.add, switch.name))
        yield


def can_be_watched(switch: Switch) -> bool:
    """Whether `watched` tells if it would have made a difference."""
    return isinstance(switch.switch_off, (Expression, Instead))
