"""The one loop that runs every method, judges its iterates and hands back the right one."""

import math
from collections.abc import Callable
from typing import Any, Protocol

from idbpd.optim.begin import (
    Units,
    begun,
    check_settings,
    flat_sizes,
    oracles,
    refuse_what_the_method_cannot,
    resumed,
)
from idbpd.optim.counted_oracle import CountedOracle
from idbpd.optim.deadline import Deadline, OutOfTimeError
from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.final_answer import INNER, final_answer
from idbpd.optim.layout import Point, flatten
from idbpd.optim.method import Iterate, Method, RevisingMethod, Status, Verdict
from idbpd.optim.oracle import Oracle, Verification, VerifyingOracle, sides_at
from idbpd.optim.problem import Problem
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.scaling import Scaling, in_user_units
from idbpd.optim.solution import Record, RunState, Solution
from idbpd.optim.stated_bounds import PerVariable

Callback = Callable[[Record], object]
_DEFAULT = IDBPD()
# How often a run goes on because a worst case turned out to be higher: a few times as a rule. Each time adds one, so
# only a function with more peaks than that comes to this end.
_REVISITS = 100


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
    ``time_limit`` ends the run after so many seconds, also in the middle of a step or of a verification.
    ``relative_tolerance`` takes the place of ``tolerance``: it is relative to the gradient of the objective at ``x0``.
    ``x_scale`` says how large each variable of a `Problem` typically is.
    """
    check_settings(method, max_steps, tolerance, effort, time_limit, relative_tolerance)
    deadline = Deadline(time_limit)
    x, layout = flatten(x0)
    oracle_of = oracles(problem, layout, x, effort, deadline)
    units = Units(flat_sizes(x_scale, layout, x), relative_tolerance is not None)
    tolerance = tolerance if relative_tolerance is None else relative_tolerance
    oracle = oracle_of(Scaling() if state is None else state.scaling)
    refuse_what_the_method_cannot(method, oracle, problem, units)
    records: list[Record] = []
    verification: Verification | None = None
    stopped, revisits = False, 0
    if state is not None:
        run = resumed(state, method, oracle, x)
    else:
        run, oracle = begun(method, oracle, oracle_of, x, units)
        records.append(_record(0, method.iterate(run.method), oracle, run.scaling))
        stopped = callback is not None and callback(records[-1]) is True
    try:
        while True:
            cut = "the callback ended the run" if stopped else ""
            if deadline.is_over:
                cut = f"the time limit of {time_limit:g} seconds has passed"
            if cut or run.step >= max_steps or run.step % method.check_every == 0:
                ending = _judge(run, method, oracle, tolerance, max_steps, cut)
                if ending is not None:
                    verification = _verified(method, oracle, run, ending, tolerance, deadline)
                    if verification is None or not verification.is_higher or revisits == _REVISITS:
                        break
                    run = _revisited(method, oracle, run, verification, tolerance)
                    revisits += 1
                    continue
            if keeper is not None and keeper.due(run.step):
                run = _with_history(run, records)
                records = []
                keeper.keep(run)
            following = _stepped(method, oracle, run, tolerance, deadline)
            if following is None:
                continue  # the time is over
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
    whole = _with_history(run, records)
    return final_answer(method, oracle, layout, whole, ending, verification, tolerance, deadline)


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
    method: Method[Any],
    oracle: CountedOracle,
    run: RunState,
    ending: Verdict,
    tolerance: float,
    deadline: Deadline,
) -> Verification | None:
    """What is known of the worst cases where a method has ended by itself; None where it would change nothing, or
    where the time is over.
    """
    is_cut_short = ending.status is Status.MAX_STEPS and method.verdict(run.method) is None
    if is_cut_short or ending.status is Status.DIVERGED:
        return None
    if not isinstance(oracle, VerifyingOracle) or not isinstance(method, RevisingMethod):
        return None
    try:
        with deadline:
            return oracle.verify(method.iterate(run.method).evaluation, INNER * tolerance)
    except OutOfTimeError:
        return None


def _stepped(
    method: Method[Any], oracle: CountedOracle, run: RunState, tolerance: float, deadline: Deadline
) -> Any | None:
    """The state of the method one step later; None where the time is over before."""
    try:
        with deadline:
            return method.step(oracle, run.method, tolerance)
    except OutOfTimeError:
        return None


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


def _record(step: int, iterate: Iterate, oracle: CountedOracle, scaling: Scaling) -> Record:
    evaluation, gradients, multipliers, found, _ = iterate
    user = in_user_units(evaluation, gradients, multipliers, found, scaling, sides_at(oracle, evaluation.x))
    return Record(step, user.f, user.g, user.multipliers, user.residuals, oracle.evaluations)
