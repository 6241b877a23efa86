"""The one loop that runs every method, judges its iterates and hands back the right one."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from idbpd.optim.counted_oracle import CountedOracle, counted
from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.final_answer import INNER, final_answer
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.inner.equalities import equality_counts
from idbpd.optim.layout import Layout, Point, flatten
from idbpd.optim.method import Iterate, Method, RevisingMethod, Status, Verdict
from idbpd.optim.oracle import Oracle, Verification, VerifyingOracle, bounds_of, sides_at
from idbpd.optim.problem import Problem
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.scale_choice import choose_scaling
from idbpd.optim.scaling import Scaling, in_user_units
from idbpd.optim.solution import Record, RunState, Solution, empty_history, first_best
from idbpd.optim.stated_bounds import PerVariable, flat_bounds, flat_values

Callback = Callable[[Record], object]
_DEFAULT = IDBPD()
_REVISITS = 100  # how often a run goes on because a worst case turned out to be higher


class Keeper(Protocol):
    """What keeps states of a run while it goes on, so that another can go on from there."""

    def due(self, step: int) -> bool:
        """Whether the state after ``step`` is wanted."""
        ...

    def keep(self, state: RunState) -> None:
        """Keep a state that was due, or the last whole one of a run that is interrupted."""
        ...


def solve(
    problem: Problem | Oracle,
    x0: Point,
    method: Method[Any] = _DEFAULT,
    max_steps: int = 20_000,
    tolerance: float = 1e-6,
    callback: Callback | None = None,
    *,
    state: RunState | None = None,
    keeper: Keeper | None = None,
    effort: float = 1.0,
    time_limit: float = math.inf,
    relative_tolerance: float | None = None,
    x_scale: PerVariable = None,
) -> Solution:
    """Run ``method`` on ``problem`` from ``x0`` until all KKT residuals are at most ``tolerance`` or ``max_steps``
    steps are done.

    ``callback`` is called with the `Record` of every step (the start is step 0) and ends the run by returning True.
    ``state``, the ``solution.state`` of an earlier run of the same method on the same problem, goes on from there
    exactly as if that run had not ended; ``max_steps`` counts from the very start, and ``x0`` only gives the shape.
    ``keeper`` is given such states while the run goes on, and once more when Ctrl-C or a termination ends it.
    ``effort`` says how hard to look for the global worst cases of a `Problem`: 10 looks ten times as long as 1.
    ``time_limit`` ends the run after so many seconds. ``relative_tolerance`` takes the place of ``tolerance``: it is
    relative to the gradients at ``x0``. ``x_scale`` says how large each variable of a `Problem` typically is.
    """
    _check(method, max_steps, tolerance, effort, time_limit, relative_tolerance)
    deadline = time.monotonic() + time_limit
    x, layout = flatten(x0)
    oracle_of = _oracles(problem, layout, x, effort)
    units = _Units(_flat_sizes(x_scale, problem, layout, x), relative_tolerance is not None)
    if relative_tolerance is not None:
        tolerance = relative_tolerance
    oracle = oracle_of(Scaling() if state is None else state.scaling)
    _refuse_what_the_method_cannot(method, oracle, problem)
    records: list[Record] = []
    verification: Verification | None = None
    stopped, revisits = False, 0
    if state is not None:
        run = _resumed(state, method, oracle, x)
    else:
        run, oracle = _begun(method, oracle, oracle_of, x, units)
        records.append(_record(0, method.iterate(run.method), oracle, run.scaling))
        stopped = callback is not None and callback(records[-1]) is True
    try:
        while True:
            cut = "the callback ended the run" if stopped else ""
            if time.monotonic() > deadline:
                cut = f"the time limit of {time_limit:g} seconds has passed"
            if cut or run.step >= max_steps or run.step % method.check_every == 0:
                ending = _judge(run, method, oracle, tolerance, max_steps, cut)
                if ending is not None:
                    verification = _verified(method, oracle, run, ending, tolerance)
                    if verification is None or not verification.is_higher or revisits == _REVISITS:
                        break
                    run = _revisited(method, oracle, run, verification, tolerance)
                    revisits += 1
                    continue
            if keeper is not None and keeper.due(run.step):
                run = _with_history(run, records)
                records = []
                keeper.keep(run)
            following = method.step(oracle, run.method, tolerance)
            iterate = method.iterate(following)
            best = run.best.or_better(iterate, tolerance, method.picks_by_residual)
            records.append(_record(run.step + 1, iterate, oracle, run.scaling))
            run = run._replace(step=run.step + 1, method=following, best=best)
            run = run._replace(evaluations=oracle.evaluations, gradients=oracle.gradients)
            stopped = callback is not None and callback(records[-1]) is True
    except (KeyboardInterrupt, SystemExit):
        if keeper is not None:
            keeper.keep(_with_history(run, records))
        raise
    return final_answer(method, oracle, layout, _with_history(run, records), ending, verification, tolerance)


class _Units(NamedTuple):
    """What the user says about units."""

    x_scale: Tensor | None
    is_relative: bool


def _oracles(problem: Problem | Oracle, layout: Layout, x: Tensor, effort: float) -> Callable[[Scaling], CountedOracle]:
    """How to make the oracle of a problem in given units."""
    if not isinstance(problem, Problem):
        return lambda _: counted(problem)
    bounds = flat_bounds(problem.bounds, layout, x)
    counts = equality_counts(problem, layout, x if bounds is None else bounds.project(x))
    return lambda scaling: counted(AutogradOracle(problem, layout, effort, scaling, counts, bounds))


def _flat_sizes(x_scale: PerVariable, problem: Problem | Oracle, layout: Layout, x: Tensor) -> Tensor | None:
    if x_scale is None:
        return None
    if not isinstance(problem, Problem):
        raise ValueError("x_scale is for a Problem; an oracle answers for its own units")
    sizes = flat_values("x_scale", x_scale, layout, x, 1.0)
    wrong = (~((sizes > 0) & sizes.isfinite())).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"x_scale must be positive and finite, but {layout.place(wrong[0])} has {float(sizes[wrong[0]])}"
        )
    return sizes


def _refuse_what_the_method_cannot(method: Method[Any], oracle: Oracle, problem: Problem | Oracle) -> None:
    if getattr(method, "takes_equalities_and_bounds", False):
        return
    name = type(method).__name__
    if bounds_of(oracle) is not None:
        raise ValueError(f"method {name} takes no bounds on x; use IDBPD(), or write a bound as a Constraint")
    if isinstance(problem, Problem) and problem.equalities:
        raise ValueError(f"method {name} takes no equalities; use IDBPD(), or write h(x) = 0 as two Constraints")


def _check(
    method: Method[Any],
    max_steps: int,
    tolerance: float,
    effort: float,
    time_limit: float,
    relative_tolerance: float | None,
) -> None:
    """Reject what could only fail later."""
    if isinstance(method, type):
        raise TypeError(f"method must be an instance such as {method.__name__}(), got the class {method.__name__}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0:
        raise ValueError(f"max_steps must be a non-negative integer, got {max_steps!r}")
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}")
    if relative_tolerance is not None and not 0 < relative_tolerance < math.inf:
        raise ValueError(f"relative_tolerance must be positive and finite, got {relative_tolerance}")
    if not 0 < effort < math.inf:
        raise ValueError(f"effort must be positive and finite, got {effort}")
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit}")


def _begun(
    method: Method[Any],
    oracle: CountedOracle,
    oracle_of: Callable[[Scaling], CountedOracle],
    x: Tensor,
    units: _Units,
) -> tuple[RunState, CountedOracle]:
    """The run at its start, and the oracle in the units of the run."""
    bounds = bounds_of(oracle)
    x = x if bounds is None else bounds.project(x)
    first = method.init(oracle, x)
    scaling = Scaling()
    # Algorithm 1 takes a problem as it is; an oracle that is no `Problem` answers for its own units.
    if isinstance(oracle, VerifyingOracle) and isinstance(method, RevisingMethod):
        scaling = choose_scaling(oracle, x, method.iterate(first), *units)
    if not scaling.is_plain:
        oracle = oracle_of(scaling)
        first = method.init(oracle, scaling.inward(x))
    iterate = method.iterate(first)
    empty = empty_history(oracle.constraint_count - iterate.evaluation.equalities)
    return RunState(0, first, first_best(iterate), empty, oracle.evaluations, oracle.gradients, (), scaling), oracle


def _with_history(run: RunState, records: list[Record]) -> RunState:
    """``run`` with its history up to its own step: an interruption may have come between a record and its state."""
    missing = run.step + 1 - len(run.history.step)
    return run._replace(history=run.history.extended(records[:missing]))


def _judge(
    run: RunState, method: Method[Any], oracle: CountedOracle, tolerance: float, max_steps: int, cut: str
) -> Verdict | None:
    """Whether the run is over: by the numbers of its latest iterate, by its callback, or for want of steps or time."""
    worst, is_finite = _measured(run, method, oracle)
    if worst <= tolerance:
        return Verdict(Status.CONVERGED, "all KKT residuals are within the tolerance")
    verdict = method.verdict(run.method)
    if verdict is not None:
        return verdict
    if not is_finite:
        return Verdict(Status.DIVERGED, "a value or a gradient is not finite")
    if cut:
        return Verdict(Status.MAX_STEPS, cut)
    return Verdict(Status.MAX_STEPS, f"all {max_steps} steps are done") if run.step >= max_steps else None


def _verified(
    method: Method[Any], oracle: CountedOracle, run: RunState, ending: Verdict, tolerance: float
) -> Verification | None:
    """What is known of the worst cases where a method has ended by itself; None where it would change nothing."""
    is_cut_short = ending.status is Status.MAX_STEPS and method.verdict(run.method) is None
    if is_cut_short or ending.status is Status.DIVERGED:
        return None
    if not isinstance(oracle, VerifyingOracle) or not isinstance(method, RevisingMethod):
        return None
    return oracle.verify(method.iterate(run.method).evaluation, INNER * tolerance)


def _revisited(
    method: Method[Any], oracle: CountedOracle, run: RunState, verification: Verification, tolerance: float
) -> RunState:
    """The run with its last point judged anew: worst cases there are higher than was thought."""
    assert isinstance(method, RevisingMethod)
    assert isinstance(oracle, VerifyingOracle)
    state = method.revisit(oracle, run.method, verification.evaluation, tolerance)
    best = run.best.or_better(method.iterate(state), tolerance, method.picks_by_residual)
    return run._replace(method=state, best=best, worst_cases=oracle.remembered())


def _measured(run: RunState, method: Method[Any], oracle: CountedOracle) -> tuple[float, bool]:
    """The worst residual of the iterate that counts, and whether the numbers of the latest one are finite."""
    iterate = method.iterate(run.method)
    if iterate.worst is not None:
        known = iterate.worst
        if run.scaling.x is not None and not run.scaling.is_relative and math.isfinite(known):
            # A variable smaller than 1 has a larger slope in the units of the user.
            record = _record(run.step, iterate, oracle, run.scaling)
            known = max(known, number(record.kkt.stationarity))
        return known, math.isfinite(known)
    worst = run.best.worst if method.picks_by_residual else iterate.residuals.worst
    counting, *latest = read(worst, iterate.evaluation.f, iterate.evaluation.g, *iterate.residuals)
    return number(counting), all(truth(numbers.isfinite().all()) for numbers in latest)


def _resumed(state: RunState, method: Method[Any], oracle: CountedOracle, x: Tensor) -> RunState:
    """``state`` after a check that it fits; the counts go on from there."""
    if state.best.x.shape != x.shape:
        raise ValueError(
            f"state has {state.best.x.numel()} variables, but x0 has {x.numel()}: it is of another problem"
        )
    if state.best.x.dtype != x.dtype:
        raise ValueError(f"state has dtype {state.best.x.dtype}, but x0 has {x.dtype}")
    if len(state.best.maximisers) - 1 != oracle.constraint_count:
        raise ValueError(
            f"state has {len(state.best.maximisers) - 1} constraints, but the problem has {oracle.constraint_count}"
        )
    if not isinstance(state.method, method.state_type):
        raise ValueError(
            f"state is that of another method: it has a {type(state.method).__name__}, "
            f"{type(method).__name__} needs a {method.state_type.__name__}"
        )
    oracle.evaluations, oracle.gradients = state.evaluations, state.gradients
    if isinstance(oracle, VerifyingOracle):
        oracle.remind(state.worst_cases)
    return state


def _record(step: int, iterate: Iterate, oracle: CountedOracle, scaling: Scaling) -> Record:
    evaluation, gradients, multipliers, found, _ = iterate
    user = in_user_units(evaluation, gradients, multipliers, found, scaling, sides_at(oracle, evaluation.x))
    return Record(step, user.f, user.g, user.multipliers, user.residuals, oracle.evaluations)
