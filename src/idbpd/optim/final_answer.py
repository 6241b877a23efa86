"""The answer of a run: the point that counts, its certificate computed there, and how its worst cases are known."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from idbpd.optim.counted_oracle import CountedOracle
from idbpd.optim.deadline import Deadline, OutOfTimeError
from idbpd.optim.device_reads import read
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.knowledge import Known
from idbpd.optim.layout import Layout
from idbpd.optim.method import Method, Status, Verdict
from idbpd.optim.oracle import Evaluation, Maximisers, Verification, VerifyingOracle, sides_at
from idbpd.optim.scaling import in_user_units
from idbpd.optim.solution import RunState, Solution

# Share of the tolerance to which worst cases are wanted at the end: residuals may miss it by little for their sake.
INNER = 0.1
_AGAIN = 5  # verifications of the point that is returned, as long as each finds a higher worst case


def final_answer(
    method: Method[Any],
    oracle: CountedOracle,
    layout: Layout,
    run: RunState,
    ending: Verdict,
    verification: Verification | None,
    tolerance: float,
    deadline: Deadline,
) -> Solution:
    """The answer, with its certificate computed at the very point that is returned."""
    status, reason = ending
    if status is Status.CONVERGED and not method.picks_by_residual:
        evaluation, gradients, multipliers, found, _ = method.iterate(run.method)
        sides, equalities = sides_at(oracle, evaluation.x), evaluation.equalities
    else:
        verification = None  # it speaks of the last point
        best = run.best
        evaluation = oracle.evaluate(best.x, Maximisers.of(best.maximisers))
        gradients = oracle.differentiate(evaluation)
        sides, equalities = sides_at(oracle, best.x), evaluation.equalities
        multipliers = best.multipliers
        if not method.picks_by_residual:
            multipliers = best_multipliers(evaluation.g, gradients, equalities, sides)
        found = residuals(evaluation.g, gradients, multipliers, equalities, sides)
    known, remarks = _known(evaluation), tuple[str, ...]()
    if isinstance(oracle, VerifyingOracle) and status is not Status.DIVERGED:
        verification = _verified_in_time(oracle, evaluation, verification, INNER * tolerance, deadline)
        if verification is None:
            evaluation, known = _unverified(evaluation)
            remarks = (f"the time limit of {deadline.seconds:g} seconds has passed before worst cases were verified",)
    if verification is not None:
        known, remarks = verification.known, verification.remarks
        if verification.is_higher:
            evaluation = verification.evaluation
            gradients = oracle.differentiate(evaluation)
            multipliers = best_multipliers(evaluation.g, gradients, equalities, sides)
            found = residuals(evaluation.g, gradients, multipliers, equalities, sides)
        evaluation = evaluation._replace(error=verification.evaluation.error)
    multipliers = multipliers.nan_to_num(0.0)
    answer = in_user_units(evaluation, gradients, multipliers, found, run.scaling, sides)
    inside, kkt = found.measured(), answer.residuals.measured()
    worst = inside.worst if run.scaling.is_relative else max(inside.worst, kkt.stationarity)
    error = evaluation.error.nan_to_num(torch.inf, torch.inf).amax().item()
    if status is Status.CONVERGED and not worst <= tolerance:
        status, reason = Status.MAX_STEPS, "the residuals recomputed with better maximisers are beyond the tolerance"
    if status is Status.CONVERGED and Known.LOCAL in known:
        status, reason = Status.LOCAL, _why_local(known, remarks)
    if status is Status.CONVERGED and not error <= max(tolerance, math.sqrt(torch.finfo(evaluation.x.dtype).eps)):
        status, reason = Status.MAX_STEPS, f"the inner maxima are only known to within {error:.1e}"
    if status is Status.INFEASIBLE and inside.infeasibility <= tolerance:
        status, reason = Status.MAX_STEPS, f"{reason}; an earlier point is feasible and is returned"
    steps = _last_step(run, tolerance) if method.check_every > 1 else run.step
    return Solution(
        x=layout.restore(answer.x),
        y=evaluation.maximisers.y,
        w=evaluation.maximisers.w[: answer.g.numel()],
        f=answer.f.nan_to_num(torch.inf).item(),
        g=answer.g.nan_to_num(torch.inf),
        multipliers=answer.multipliers,
        kkt=kkt,
        status=status,
        reason=reason,
        steps=steps,
        history=run.history.until(steps),
        evaluations=oracle.evaluations,
        gradients=oracle.gradients,
        inner_error=error,
        state=run,
        known=known[: 1 + answer.g.numel()],
        h=answer.h.nan_to_num(torch.inf),
        equality_multipliers=answer.equality_multipliers,
        bound_multipliers=None if answer.bound_multipliers is None else layout.restore(answer.bound_multipliers),
    )


def _verified_in_time(
    oracle: VerifyingOracle, evaluation: Evaluation, before: Verification | None, tolerance: float, deadline: Deadline
) -> Verification | None:
    """What is known of the worst cases of the point that is returned; None where the time does not allow to know."""
    found = before
    try:
        with deadline:
            found = found or oracle.verify(evaluation, tolerance)
            is_higher = found.is_higher
            for _ in range(_AGAIN):
                if not found.is_higher:
                    break
                # What a search has found on the way need not be the highest.
                found = oracle.verify(found.evaluation, tolerance)
            return found._replace(is_higher=is_higher)
    except OutOfTimeError:
        return found


def _unverified(evaluation: Evaluation) -> tuple[Evaluation, tuple[Known, ...]]:
    """Worst cases as a local search has left them."""
    known = tuple(Known.EXACT if point is None else Known.LOCAL for point in evaluation.maximisers.points)
    is_local = torch.tensor([one is Known.LOCAL for one in known], device=evaluation.error.device)
    return evaluation._replace(error=torch.where(is_local, torch.inf, evaluation.error)), known


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
