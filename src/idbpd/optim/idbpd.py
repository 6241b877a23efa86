"""`IDBPD`: the default method, the dynamic barrier in a quasi-Newton metric with a safeguarded search.

It is ours, not the paper's: Theorem 2 does not cover it (it covers `IDBPD.paper`). What it has in common with Algorithm 1 is the quadratic
program of the direction, with the barrier g_i itself in place of alpha_k ||grad g_i||, the metric H in place of the identity, and a
multiplier that stays below a penalty parameter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import torch
from torch import Tensor

from idbpd.optim.algorithm1 import Algorithm1
from idbpd.optim.kkt import Residuals, best_multipliers, residuals
from idbpd.optim.method import Iterate, Status, Verdict
from idbpd.optim.metric import Metric, identity
from idbpd.optim.model import Model, build, violation
from idbpd.optim.oracle import Evaluation, Gradients, Oracle
from idbpd.optim.penalty import Merit, noise, steer
from idbpd.optim.schedules import LogarithmicSteps, Schedule, TheoremConstraintSteps, barrier, constant
from idbpd.optim.search import search


_DAMPING = 0.1


class IDBPDState(NamedTuple):
    """The iterate, the metric, and what the safeguards remember."""

    evaluation: Evaluation
    gradients: Gradients
    multipliers: Tensor
    residuals: Residuals
    f: float  # the values again, on the host
    g: Tensor
    metric: Metric
    penalty: float  # mu of the merit function; 0 before the first step
    t: float  # the length of arc that the last search accepted
    restoring: bool  # whether only the violation is being minimised
    entry: float  # the violation at which that began
    restorations: int
    least_violation: float  # the least violation at which no descent was left
    perturbations: int  # how often such a point was left by a random displacement, without gain
    best_worst: float
    stalled: int  # steps in the noise of rounding without a better residual
    verdict: Verdict | None


@final
@dataclass(frozen=True)
class IDBPD:
    """The product's best solver; the defaults need no tuning. `IDBPD.paper` is Algorithm 1 as written.

    ``metric`` is "quasi-newton" (limited-memory BFGS with ``memory`` pairs) or "identity" (a step size from the local curvature).
    """

    metric: Literal["quasi-newton", "identity"] = "quasi-newton"
    memory: int = 20

    def __post_init__(self) -> None:
        """Reject settings that mean nothing."""
        if self.metric not in ("quasi-newton", "identity"):
            raise ValueError(f"metric must be 'quasi-newton' or 'identity', got {self.metric!r}")
        if self.memory < 1:
            raise ValueError(f"memory must be at least 1, got {self.memory}")

    @staticmethod
    def paper(
        gamma: float | Schedule = 1e-3,
        alpha: float | Schedule = 1.0,
        objective_steps: Callable[[int], int] | None = None,
        constraint_steps: Callable[[int], int] | TheoremConstraintSteps | None = None,
        accelerated: bool = False,
    ) -> Algorithm1:
        """Algorithm 1. Numbers give the schedules of the experiments: gamma_k = gamma and alpha_k = alpha / (k + 2)^1.001,
        N_k = 2 ceil(log(k + 2)), M_k = 10 ceil(log(k + 2)); functions of the step (see `idbpd.optim.schedules`) give any other.

        The unconstrained variant is this method on a problem without constraints.
        """
        return Algorithm1(
            gamma=gamma if callable(gamma) else constant(gamma),
            alpha=alpha if callable(alpha) else barrier(alpha),
            objective_steps=LogarithmicSteps(2) if objective_steps is None else objective_steps,
            constraint_steps=LogarithmicSteps(10) if constraint_steps is None else constraint_steps,
            accelerated=accelerated,
        )

    @property
    def check_every(self) -> int:
        """The search looks at the numbers anyway."""
        return 1

    @property
    def picks_by_residual(self) -> bool:
        """The smallest residual of a run may sit on a plateau: the best feasible point is wanted."""
        return False

    def init(self, oracle: Oracle, x: Tensor) -> IDBPDState:
        """The start, with the identity as the metric."""
        evaluation = oracle.evaluate(x, oracle.start(x))
        blank = IDBPDState(
            evaluation, Gradients(x, x), x, Residuals(x, x, x), 0.0, x, identity(x), 0.0, 1.0,
            False, 0.0, 0, torch.inf, 0, torch.inf, 0, None,
        )  # fmt: skip
        return self._arrive(oracle, blank, evaluation)

    def iterate(self, state: IDBPDState) -> Iterate:
        """The iterate with the multipliers that certify it best."""
        return Iterate(state.evaluation, state.multipliers, state.residuals)

    def verdict(self, state: IDBPDState) -> Verdict | None:
        """Why no further step is possible, or None."""
        return state.verdict

    def step(self, oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
        """Minimise the model, search along its arc, go there, and learn the curvature on the way."""
        now = violation(state.g)
        if state.restoring and now <= max(0.1 * tolerance, 1e-2 * state.entry):
            state = state._replace(
                restoring=False, metric=identity(state.evaluation.x, state.metric.scale), penalty=0.0, t=1.0
            )
        for _ in range(2):
            model = build(state.gradients, state.g, state.metric, 0.0 if state.restoring else 1.0)
            if state.restoring and _is_violation_stationary(state, tolerance):
                return self._leave_stationary(oracle, state)
            penalty, hopeless = (1.0, False) if state.restoring else steer(model, state.penalty, tolerance)
            if hopeless and now > tolerance:
                return self._restore(state)
            state = state._replace(penalty=penalty)
            merit = Merit(model.objective, penalty)
            doubt = noise(state.evaluation, state.gradients, merit)
            found = search(oracle, state.evaluation, (state.f, state.g), model, merit, doubt, min(1.0, 8 * state.t))
            if found.unbounded:
                return state._replace(verdict=Verdict(Status.DIVERGED.value, "the objective is unbounded below"))
            if found.evaluation is not None and found.proposal is not None:
                arrived = self._arrive(oracle, state, found.evaluation)
                return self._learn(state, arrived, found.proposal.weights, found.proposal.t, doubt, found.proposal.reduction)
            if state.metric.steps.shape[0] == 0:
                break
            state = state._replace(metric=identity(state.evaluation.x, state.metric.scale), t=1.0)
        if now > tolerance:
            return self._leave_stationary(oracle, state) if state.restoring else self._restore(state)
        return state._replace(verdict=Verdict(Status.MAX_STEPS.value, "no step reduces the merit function beyond rounding"))

    def _arrive(self, oracle: Oracle, state: IDBPDState, evaluation: Evaluation) -> IDBPDState:
        """``state`` moved to an evaluated point: gradients, multipliers and residuals there."""
        f, *g = torch.cat([evaluation.f.reshape(1), evaluation.g]).tolist()
        gradients = oracle.differentiate(evaluation)
        multipliers = best_multipliers(evaluation.g, gradients)
        return state._replace(
            evaluation=evaluation, gradients=gradients, multipliers=multipliers,
            residuals=residuals(evaluation.g, gradients, multipliers), f=f, g=torch.tensor(g, dtype=torch.float64),
        )  # fmt: skip

    def _learn(
        self, old: IDBPDState, new: IDBPDState, weights: Tensor, t: float, doubt: float, reduction: float
    ) -> IDBPDState:
        """The metric after the step from ``old`` to ``new``, and whether the run still gets anywhere."""
        s = new.evaluation.x - old.evaluation.x
        w = weights.to(s)
        before = w[0] * old.gradients.f + w[1:] @ old.gradients.g
        y = w[0] * new.gradients.f + w[1:] @ new.gradients.g - before
        Bs = -t * before  # s = -t H before
        sizes = w.abs() * torch.linalg.vector_norm(torch.cat([old.gradients.f.unsqueeze(0), old.gradients.g]), dim=1)
        vectors = torch.stack([s, y, before]).to(torch.float64)
        products = vectors @ vectors.T
        ss, sy, yy, sb, bb, size = torch.cat(
            [products[[0, 0, 1, 0, 2], [0, 1, 1, 2, 2]], sizes.sum().to(torch.float64).reshape(1)]
        ).tolist()
        sBs = -t * sb
        metric = old.metric
        blur = 20 * torch.finfo(s.dtype).eps * size  # a change of gradient as small as this is rounding
        if yy <= blur**2:
            # Measurably less curvature than the metric says counts as none; a step too short to measure teaches nothing.
            sy, y = (0.0, torch.zeros_like(y)) if t * t * bb > blur**2 else (math.nan, y)
        scale = sy / yy if sy > 1e-8 * (ss * yy) ** 0.5 and yy > 0 else metric.scale
        if self.metric == "identity":
            L = (yy / ss) ** 0.5 if ss > 0 else 0.0
            scale = min(2**0.5 * metric.scale * t, 1 / (2 * L)) if L > 0 else 2 * metric.scale * t
            metric = identity(s, scale)
            t = 1.0
        elif ss > 0 and sBs > 0 and not math.isnan(sy):
            if sy < _DAMPING * sBs:
                theta = (1 - _DAMPING) * sBs / (sBs - sy)
                y = theta * y + (1 - theta) * Bs
                sy = _DAMPING * sBs
            metric = metric.updated(s, y, sy, scale, self.memory)
        worst = float(new.residuals.worst)
        better = worst < old.best_worst
        stalled = 0 if better or reduction > doubt else old.stalled + 1
        verdict = None
        if stalled >= 30:
            verdict = Verdict(Status.MAX_STEPS.value, "rounding hides any further progress")
        return new._replace(metric=metric, t=t, best_worst=min(worst, old.best_worst), stalled=stalled, verdict=verdict)

    def _restore(self, state: IDBPDState) -> IDBPDState:
        """Begin to minimise the violation alone, in a metric of its own."""
        return state._replace(
            restoring=True, entry=violation(state.g), restorations=state.restorations + 1,
            metric=identity(state.evaluation.x), t=1.0,
        )  # fmt: skip

    def _leave_stationary(self, oracle: Oracle, state: IDBPDState) -> IDBPDState:
        """Displace a point where the violation has no descent, or say that the constraints cannot be met."""
        now = violation(state.g)
        gained = now < state.least_violation * (1 - 1e-6)
        perturbations = 0 if gained else state.perturbations
        least = min(now, state.least_violation)
        if perturbations >= 4:
            reason = f"the violation {least:.3e} cannot be reduced near this point"
            return state._replace(verdict=Verdict(Status.INFEASIBLE.value, reason))
        x = state.evaluation.x
        generator = torch.Generator().manual_seed(perturbations)
        noise_ = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
        size = 1e-3 * 10.0**perturbations
        evaluation = oracle.evaluate(x + size * (1 + x.abs()) * noise_, state.evaluation.maximisers)
        if bool(torch.cat([evaluation.f.reshape(1), evaluation.g]).isfinite().all()):
            state = self._arrive(oracle, state, evaluation)
        return state._replace(
            metric=identity(x), t=1.0, least_violation=least, perturbations=perturbations + 1
        )


def _is_violation_stationary(state: IDBPDState, tolerance: float) -> bool:
    """Whether max_i [g_i]_+ has no descent direction to first order: a convex combination of gradients vanishes."""
    model = build(state.gradients, state.g, identity(state.evaluation.x), 0.0)
    proposal = model.propose(1.0, 1.0)
    lam = proposal.multipliers
    return float(lam.sum()) > 1 - 1e-6 and float(lam @ model.gram[1:, 1:] @ lam) <= tolerance**2
