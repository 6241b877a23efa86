"""The one loop that runs every method, judges its iterates and hands back the right one."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.autograd_oracle import AutogradOracle
from idbpd.optim.idbpd import IDBPD
from idbpd.optim.kkt import KKT, best_multipliers, residuals
from idbpd.optim.layout import Layout, Point, flatten
from idbpd.optim.method import Iterate, Method, Status
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, Oracle
from idbpd.optim.problem import Problem
from idbpd.optim.solution import Best, Record, RunState, Solution, collect

Callback = Callable[[Record], object]


def solve(
    problem: Problem | Oracle,
    x0: Point,
    method: Method[Any] = IDBPD(),
    max_steps: int = 20_000,
    tolerance: float = 1e-6,
    callback: Callback | None = None,
    state: RunState | None = None,
) -> Solution:
    """Run ``method`` on ``problem`` from ``x0`` until all KKT residuals are at most ``tolerance`` or ``max_steps`` steps are done.

    ``callback`` is called with the record of every step (the start is step 0) and ends the run by returning True.
    ``state`` (``solution.state`` of an earlier run of the same method on the same problem) goes on from there: ``max_steps`` counts from
    the very start, ``x0`` only gives the shape.
    """
    if not isinstance(max_steps, int) or max_steps < 0:
        raise ValueError(f"max_steps must be a non-negative integer, got {max_steps!r}")
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}")
    x, layout = flatten(x0)
    if not bool(x.isfinite().all()):
        raise ValueError(f"x0 has {int((~x.isfinite()).sum())} entries that are not finite; a run needs a finite start")
    oracle = _Counted(AutogradOracle(problem, layout) if isinstance(problem, Problem) else problem)
    if state is None:
        first = method.init(oracle, x)
        run = _begin(first, method.iterate(first), oracle)
        if callback is not None and callback(run.history[-1]) is True:
            max_steps = 0
    else:
        run = state
        oracle.evaluations, oracle.gradients = run.evaluations, run.gradients
    return _finish(method, oracle, layout, *_loop(method, oracle, run, max_steps, tolerance, callback), tolerance)


class _Ending(NamedTuple):
    status: Status
    reason: str


def _loop(
    method: Method[Any], oracle: "_Counted", run: RunState, max_steps: int, tolerance: float, callback: Callback | None
) -> tuple[RunState, _Ending]:
    """Steps until something ends the run."""
    records = list(run.history)
    while True:
        if run.step % method.check_every == 0 or run.step >= max_steps:
            ending = _ending(run, method, records, tolerance)
            if ending is None and run.step >= max_steps:
                ending = _Ending(Status.MAX_STEPS, f"{max_steps} steps are done")
            if ending is not None:
                return run._replace(history=tuple(records)), ending
        state = method.step(oracle, run.method, tolerance)
        iterate = method.iterate(state)
        step = run.step + 1
        records.append(_record(step, iterate, oracle))
        run = RunState(
            step, state, _better(run.best, iterate, tolerance, method.picks_by_residual), (), oracle.evaluations, oracle.gradients
        )
        if callback is not None and callback(records[-1]) is True:
            return run._replace(history=tuple(records)), _Ending(Status.MAX_STEPS, "the callback ended the run")


def _ending(run: RunState, method: Method[Any], records: list[Record], tolerance: float) -> _Ending | None:
    """Whether the run is over, judged on the host from the latest iterate."""
    iterate = method.iterate(run.method)
    worst = iterate.residuals.worst if not method.picks_by_residual else run.best.worst
    if float(worst) <= tolerance:
        return _Ending(Status.CONVERGED, "all KKT residuals are within the tolerance")
    verdict = method.verdict(run.method)
    if verdict is not None:
        return _Ending(Status(verdict.status), verdict.reason)
    numbers = torch.cat([records[-1].f.reshape(1), records[-1].g, torch.stack(tuple(records[-1].kkt))])
    if not bool(numbers.isfinite().all()):
        return _Ending(Status.DIVERGED, "a value or a gradient is not finite")
    return None


def _begin(state: Any, iterate: Iterate, oracle: "_Counted") -> RunState:
    maximisers = (iterate.evaluation.maximisers.y, *iterate.evaluation.maximisers.w)
    best = Best(
        iterate.evaluation.x, maximisers, iterate.multipliers, iterate.evaluation.f,
        iterate.residuals.infeasibility, iterate.residuals.worst,
    )  # fmt: skip
    return RunState(0, state, best, (_record(0, iterate, oracle),), oracle.evaluations, oracle.gradients)


def _record(step: int, iterate: Iterate, oracle: "_Counted") -> Record:
    evaluation = iterate.evaluation
    return Record(step, evaluation.f, evaluation.g, iterate.multipliers, iterate.residuals, oracle.evaluations)


def _better(best: Best, iterate: Iterate, tolerance: float, by_residual: bool) -> Best:
    """The better of the two, chosen on the device.

    By residual: the smaller worst residual, but the first that meets the tolerance stays. Else: feasible before infeasible, then the
    lower f among the feasible and the smaller violation among the infeasible.
    """
    evaluation, found = iterate.evaluation, iterate.residuals
    worst = found.worst
    if by_residual:
        chosen = (worst < best.worst) & ~(best.worst <= tolerance)
    else:
        feasible, was_feasible = found.infeasibility <= tolerance, best.infeasibility <= tolerance
        lower = torch.where(was_feasible, evaluation.f < best.f, True)
        chosen = torch.where(feasible, lower, ~was_feasible & (found.infeasibility < best.infeasibility))
    chosen = chosen & worst.isfinite() & evaluation.f.isfinite() | ~best.worst.isfinite() & worst.isfinite()
    points = (evaluation.maximisers.y, *evaluation.maximisers.w)
    maximisers = tuple(
        None if new is None or old is None else torch.where(chosen, new, old)
        for new, old in zip(points, best.maximisers, strict=True)
    )
    return Best(
        torch.where(chosen, evaluation.x, best.x),
        maximisers,
        torch.where(chosen, iterate.multipliers, best.multipliers),
        torch.where(chosen, evaluation.f, best.f),
        torch.where(chosen, found.infeasibility, best.infeasibility),
        torch.where(chosen, worst, best.worst),
    )


def _finish(
    method: Method[Any], oracle: "_Counted", layout: Layout, run: RunState, ending: _Ending, tolerance: float
) -> Solution:
    """The answer, with its certificate computed at the very point that is returned."""
    status, reason = ending
    if status is Status.CONVERGED and not method.picks_by_residual:
        evaluation, gradients, multipliers, found = method.iterate(run.method)
    else:
        best = run.best
        evaluation = oracle.evaluate(best.x, Maximisers(best.maximisers[0], best.maximisers[1:]))
        gradients = oracle.differentiate(evaluation)
        multipliers = best.multipliers if method.picks_by_residual else best_multipliers(evaluation.g, gradients)
        found = residuals(evaluation.g, gradients, multipliers)
    kkt = found.measured()
    error = evaluation.error.nan_to_num(torch.inf).amax().item()
    if status is Status.CONVERGED and not kkt.worst <= tolerance:
        status, reason = Status.MAX_STEPS, "the residuals recomputed with better maximisers are beyond the tolerance"
    if status is Status.CONVERGED and not error <= max(tolerance, torch.finfo(evaluation.x.dtype).eps ** 0.5):
        status, reason = Status.MAX_STEPS, f"the inner maxima are only known to within {error:.1e}"
    return Solution(
        x=layout.restore(evaluation.x),
        y=evaluation.maximisers.y,
        w=evaluation.maximisers.w,
        f=evaluation.f.nan_to_num(torch.inf).item(),
        g=evaluation.g.nan_to_num(torch.inf),
        multipliers=multipliers,
        kkt=kkt,
        status=status,
        reason=reason,
        steps=run.step,
        history=collect(run.history),
        evaluations=oracle.evaluations,
        gradients=oracle.gradients,
        inner_error=error,
        state=run,
    )


class _Counted:
    """An oracle that counts what is asked of it."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.evaluations = 0
        self.gradients = 0

    @property
    def constraint_count(self) -> int:
        return self._oracle.constraint_count

    def start(self, x: Tensor) -> Maximisers:
        return self._oracle.start(x)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        self.evaluations += 1
        return self._oracle.evaluate(x, warm, steps)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        self.gradients += 1
        return self._oracle.differentiate(evaluation)
