"""The one loop that runs every method, judges its iterates and hands back the right one."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from idbpd.optim.counted_oracle import CountedOracle, counted
from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.knowledge import Known
from idbpd.optim.layout import Layout, Point, flatten
from idbpd.optim.method import Iterate, Method, RevisingMethod, Status, Verdict
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, Verification, VerifyingOracle
from idbpd.optim.problem import Problem
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.solution import Record, RunState, Solution, empty_history, first_best

Callback = Callable[[Record], object]
_DEFAULT = IDBPD()
_INNER = 0.1  # share of the tolerance to which worst cases are wanted at the end
_AGAIN = 5  # verifications of the point that is returned
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
    oracle = counted(AutogradOracle(problem, layout, effort) if isinstance(problem, Problem) else problem)
    records: list[Record] = []
    verification: Verification | None = None
    stopped, revisits = False, 0
    if state is not None:
        run = _resumed(state, method, oracle, x)
    else:
        first = method.init(oracle, x)
        iterate = method.iterate(first)
        records.append(_record(0, iterate, oracle))
        empty = empty_history(oracle.constraint_count)
        run = RunState(0, first, first_best(iterate), empty, oracle.evaluations, oracle.gradients)
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
            records.append(_record(run.step + 1, iterate, oracle))
            run = RunState(
                run.step + 1, following, best, run.history, oracle.evaluations, oracle.gradients, run.worst_cases
            )
            stopped = callback is not None and callback(records[-1]) is True
    except (KeyboardInterrupt, SystemExit):
        if keeper is not None:
            keeper.keep(_with_history(run, records))
        raise
    return _finish(method, oracle, layout, _with_history(run, records), ending, verification, tolerance)


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
    return oracle.verify(method.iterate(run.method).evaluation, _INNER * tolerance)


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


def _finish(
    method: Method[Any],
    oracle: CountedOracle,
    layout: Layout,
    run: RunState,
    ending: Verdict,
    verification: Verification | None,
    tolerance: float,
) -> Solution:
    """The answer, with its certificate computed at the very point that is returned."""
    status, reason = ending
    if status is Status.CONVERGED and not method.picks_by_residual:
        evaluation, gradients, multipliers, found, _ = method.iterate(run.method)
    else:
        verification = None  # it speaks of the last point
        best = run.best
        evaluation = oracle.evaluate(best.x, Maximisers.of(best.maximisers))
        gradients = oracle.differentiate(evaluation)
        multipliers = best.multipliers if method.picks_by_residual else best_multipliers(evaluation.g, gradients)
        found = residuals(evaluation.g, gradients, multipliers)
    known, remarks = _known(evaluation), tuple[str, ...]()
    if verification is None and isinstance(oracle, VerifyingOracle) and status is not Status.DIVERGED:
        verification = oracle.verify(evaluation, _INNER * tolerance)
    if verification is not None:
        is_higher = verification.is_higher
        for _ in range(_AGAIN):
            if not (verification.is_higher and isinstance(oracle, VerifyingOracle)):
                break
            # What a search has found on the way need not be the highest.
            verification = oracle.verify(verification.evaluation, _INNER * tolerance)
        known, remarks = verification.known, verification.remarks
        if is_higher:
            evaluation = verification.evaluation
            gradients = oracle.differentiate(evaluation)
            multipliers = best_multipliers(evaluation.g, gradients)
            found = residuals(evaluation.g, gradients, multipliers)
        evaluation = evaluation._replace(error=verification.evaluation.error)
    kkt = found.measured()
    error = evaluation.error.nan_to_num(torch.inf, torch.inf).amax().item()
    if status is Status.CONVERGED and not kkt.worst <= tolerance:
        status, reason = Status.MAX_STEPS, "the residuals recomputed with better maximisers are beyond the tolerance"
    if status is Status.CONVERGED and Known.LOCAL in known:
        status, reason = Status.LOCAL, _why_local(known, remarks)
    if status is Status.CONVERGED and not error <= max(tolerance, math.sqrt(torch.finfo(evaluation.x.dtype).eps)):
        status, reason = Status.MAX_STEPS, f"the inner maxima are only known to within {error:.1e}"
    if status is Status.INFEASIBLE and kkt.infeasibility <= tolerance:
        status, reason = Status.MAX_STEPS, f"{reason}; an earlier point is feasible and is returned"
    steps = _last_step(run, tolerance) if method.check_every > 1 else run.step
    return Solution(
        x=layout.restore(evaluation.x),
        y=evaluation.maximisers.y,
        w=evaluation.maximisers.w,
        f=evaluation.f.nan_to_num(torch.inf).item(),
        g=evaluation.g.nan_to_num(torch.inf),
        multipliers=multipliers.nan_to_num(0.0),
        kkt=kkt,
        status=status,
        reason=reason,
        steps=steps,
        history=run.history.until(steps),
        evaluations=oracle.evaluations,
        gradients=oracle.gradients,
        inner_error=error,
        state=run,
        known=known,
    )


def _known(evaluation: Evaluation) -> tuple[Known, ...]:
    """How an oracle that answers for its own maxima knows them: by the errors that it states."""
    return tuple(Known.EXACT if error < math.inf else Known.LOCAL for error in read(evaluation.error)[0].tolist())


def _why_local(known: Sequence[Known], remarks: Sequence[str]) -> str:
    if remarks:
        return "; ".join(remarks)
    names = ["the objective", *(f"constraints[{i}]" for i in range(len(known) - 1))]
    local = ", ".join(name for name, one in zip(names, known, strict=True) if one is Known.LOCAL)
    return (
        f"all KKT residuals are within the tolerance, but the worst case of {local} is only the highest found; "
        "state concave=True or maximise=..., or raise effort"
    )


def _last_step(run: RunState, tolerance: float) -> int:
    """The step at which a run that is not looked at after each was over: the first to converge, or the last finite."""
    worst = run.history.worst
    over = (worst <= tolerance).nonzero()
    if over.numel():
        return int(over[0])
    wild = (~(worst.isfinite() & run.history.f.isfinite())).nonzero()
    return max(int(wild[0]) - 1, 0) if wild.numel() else run.step


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
