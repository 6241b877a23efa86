"""The one loop that runs every method, judges its iterates and hands back the right one."""

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

from torch import Tensor

from idbpd.optim.counted_oracle import CountedOracle, counted
from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.final_answer import INNER, final_answer
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import Point, flatten
from idbpd.optim.method import Iterate, Method, RevisingMethod, Status, Verdict
from idbpd.optim.objective_scale import objective_scale, unscaled_record, unscaled_solution
from idbpd.optim.oracle import Oracle, Verification, VerifyingOracle
from idbpd.optim.problem import Problem
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.solution import Record, RunState, Solution, empty_history, first_best

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
) -> Solution:
    """Run ``method`` on ``problem`` from ``x0`` until all KKT residuals are at most ``tolerance`` or ``max_steps``
    steps are done.

    ``callback`` is called with the `Record` of every step (the start is step 0) and ends the run by returning True.
    ``state``, the ``solution.state`` of an earlier run of the same method on the same problem, goes on from there
    exactly as if that run had not ended; ``max_steps`` counts from the very start, and ``x0`` only gives the shape.
    ``keeper`` is given such states while the run goes on, and once more when Ctrl-C or a termination ends it.
    ``effort`` says how hard to look for the global worst cases of a `Problem`: 10 looks ten times as long as 1.
    ``time_limit`` ends the run after the step in which so many seconds have passed.
    """
    _check(method, max_steps, tolerance, effort, time_limit)
    deadline = time.monotonic() + time_limit
    x, layout = flatten(x0)

    def oracle_of(scale: float) -> CountedOracle:
        return counted(AutogradOracle(problem, layout, effort, scale) if isinstance(problem, Problem) else problem)

    oracle = oracle_of(1.0 if state is None else state.objective_scale)
    records: list[Record] = []
    verification: Verification | None = None
    stopped, revisits = False, 0
    if state is not None:
        run = _resumed(state, method, oracle, x)
    else:
        run, oracle = _begun(method, oracle, oracle_of, x)
        records.append(unscaled_record(_record(0, method.iterate(run.method), oracle), run.objective_scale))
        stopped = callback is not None and callback(records[-1]) is True
    try:
        while True:
            cut = "the callback ended the run" if stopped else ""
            if time.monotonic() > deadline:
                cut = f"the time limit of {time_limit:g} seconds has passed"
            if cut or run.step >= max_steps or run.step % method.check_every == 0:
                ending = _judge(run, method, tolerance, max_steps, cut)
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
            records.append(unscaled_record(_record(run.step + 1, iterate, oracle), run.objective_scale))
            run = run._replace(step=run.step + 1, method=following, best=best)
            run = run._replace(evaluations=oracle.evaluations, gradients=oracle.gradients)
            stopped = callback is not None and callback(records[-1]) is True
    except (KeyboardInterrupt, SystemExit):
        if keeper is not None:
            keeper.keep(_with_history(run, records))
        raise
    solution = final_answer(method, oracle, layout, _with_history(run, records), ending, verification, tolerance)
    return unscaled_solution(solution, run.objective_scale)


def _check(method: Method[Any], max_steps: int, tolerance: float, effort: float, time_limit: float) -> None:
    """Reject what could only fail later."""
    if isinstance(method, type):
        raise TypeError(f"method must be an instance such as {method.__name__}(), got the class {method.__name__}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0:
        raise ValueError(f"max_steps must be a non-negative integer, got {max_steps!r}")
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}")
    if not 0 < effort < math.inf:
        raise ValueError(f"effort must be positive and finite, got {effort}")
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit}")


def _begun(
    method: Method[Any], oracle: CountedOracle, oracle_of: Callable[[float], CountedOracle], x: Tensor
) -> tuple[RunState, CountedOracle]:
    """The run at its start, and the oracle with the objective in a scale of its own where that is tiny."""
    first = method.init(oracle, x)
    scale = 1.0
    # Algorithm 1 takes the objective as it is; an oracle that is no `Problem` answers for its own scale.
    if isinstance(oracle, VerifyingOracle) and isinstance(method, RevisingMethod):
        scale = objective_scale(oracle, x, method.iterate(first))
    if scale > 1.0:
        oracle = oracle_of(scale)
        first = method.init(oracle, x)
    best, empty = first_best(method.iterate(first)), empty_history(oracle.constraint_count)
    return RunState(0, first, best, empty, oracle.evaluations, oracle.gradients, (), scale), oracle


def _with_history(run: RunState, records: list[Record]) -> RunState:
    """``run`` with its history up to its own step: an interruption may have come between a record and its state."""
    missing = run.step + 1 - len(run.history.step)
    return run._replace(history=run.history.extended(records[:missing]))


def _judge(run: RunState, method: Method[Any], tolerance: float, max_steps: int, cut: str) -> Verdict | None:
    """Whether the run is over: by the numbers of its latest iterate, by its callback, or for want of steps or time."""
    worst, is_finite = _measured(run, method)
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


def _measured(run: RunState, method: Method[Any]) -> tuple[float, bool]:
    """The worst residual of the iterate that counts, and whether the numbers of the latest one are finite."""
    iterate = method.iterate(run.method)
    if iterate.worst is not None:
        return iterate.worst, math.isfinite(iterate.worst)
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


def _record(step: int, iterate: Iterate, oracle: CountedOracle) -> Record:
    evaluation = iterate.evaluation
    return Record(step, evaluation.f, evaluation.g, iterate.multipliers, iterate.residuals, oracle.evaluations)
