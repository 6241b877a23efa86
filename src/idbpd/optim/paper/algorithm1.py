"""Algorithm 1 of the paper, exactly: the inexact dynamic barrier primal-dual method (iDB-PD)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import torch
from torch import Tensor

from idbpd.optim.kkt import residuals
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Oracle
from idbpd.optim.paper.schedules import Schedule, TheoremConstraintSteps
from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.qp.all_faces import MOST_UNKNOWNS, minimise_over_faces

# Far beyond any sensible multiplier: keeps those of incompatible constraints (opposite gradients) from running away.
_LARGEST = 1e12


class Algorithm1State(NamedTuple):
    """x_k with y_k, w_k (in the evaluation), their gradients, and lambda_k."""

    k: int
    evaluation: Evaluation
    gradients: Gradients
    multipliers: Tensor


def multiplier(g: Tensor, gradients: Gradients, alpha: float) -> Tensor:
    """The multiplier lambda_k of Algorithm 1: eq. (update:lambda) with the indicator zeta. In float64.

    With rho = ||grad psi||, lambda = [-<grad psi, grad phi> + alpha rho]_+ / ||grad psi||^2 where
    zeta = [psi]_+ rho > 0, else 0. Several constraints (not in the paper) get the multipliers of the same quadratic
    program, with a row for each zeta_i > 0. All on the device, without waiting for it, but for more than eight.
    """
    if g.numel() == 0:
        return g.new_zeros(0)
    G = gradients.g.to(torch.float64)
    slope = G @ gradients.f.to(torch.float64)
    rho = torch.linalg.vector_norm(G, dim=1)
    active = g.clamp(min=0) * rho > 0
    if g.numel() == 1:
        # The square may underflow where rho does not; a constraint as flat as that is treated as inactive.
        square = rho.square()
        return torch.where(active & (square > 0), (-slope + alpha * rho).clamp(min=0) / square, 0.0)
    gram, linear = G @ G.T, slope - alpha * rho
    if g.numel() <= MOST_UNKNOWNS:
        return minimise_over_faces(gram, linear, active, _LARGEST)
    kept = active.cpu().nonzero().squeeze(1)
    found = torch.zeros(g.numel(), dtype=torch.float64)
    if kept.numel():
        found[kept] = minimise_on_orthant(gram.cpu()[kept][:, kept], linear.cpu()[kept], _LARGEST)
    return found.to(g.device)


@final
@dataclass(frozen=True)
class Algorithm1:
    """Algorithm 1 with its schedules. Made by `IDBPD.paper`.

    The guarantee of Theorem 2 is about this method: with its schedules, after T steps some iterate has stationarity
    O(T^{-1/3}), infeasibility O(T^{-1/(6 theta)}) and slackness O(T^{-(1 - theta)/(3 theta)}).
    """

    gamma: Schedule
    alpha: Schedule
    objective_steps: Callable[[int], int]
    constraint_steps: Callable[[int], int] | TheoremConstraintSteps
    accelerated: bool
    check_every: int = 64
    state_type: ClassVar[type[Algorithm1State]] = Algorithm1State
    picks_by_residual: ClassVar[bool] = True  # Theorem 2 is about the iterate with the smallest worst residual

    def init(self, oracle: Oracle, x: Tensor) -> Algorithm1State:
        """x_0 with y_0 and w_0 by the ascent steps of k = 0 from the centres of their sets."""
        evaluation = oracle.evaluate(x, oracle.start(x), self._ascent(0, None))
        return self._state(0, oracle, evaluation)

    def step(self, oracle: Oracle, state: Algorithm1State, tolerance: float) -> Algorithm1State:  # noqa: ARG002
        """x_{k+1} = x_k - gamma_k (grad phi + lambda_k grad psi), then N_k and M_k ascent steps on y and w."""
        k, evaluation, gradients, lam = state
        d = -gradients.f - lam.to(gradients.f.dtype) @ gradients.g
        x = evaluation.x + self.gamma(k) * d
        evaluation = oracle.evaluate(x, evaluation.maximisers, self._ascent(k, state))
        return self._state(k + 1, oracle, evaluation)

    def iterate(self, state: Algorithm1State) -> Iterate:
        """The iterate with the residuals at (x_k, y_k, w_k, lambda_k)."""
        found = residuals(state.evaluation.g, state.gradients, state.multipliers)
        return Iterate(state.evaluation, state.gradients, state.multipliers, found)

    def verdict(self, state: Algorithm1State) -> Verdict | None:  # noqa: ARG002
        """Algorithm 1 never gives up by itself."""
        return None

    def _state(self, k: int, oracle: Oracle, evaluation: Evaluation) -> Algorithm1State:
        gradients = oracle.differentiate(evaluation)
        return Algorithm1State(k, evaluation, gradients, multiplier(evaluation.g, gradients, self.alpha(k)))

    def _ascent(self, k: int, state: Algorithm1State | None) -> AscentSteps:
        steps = self.constraint_steps
        if not isinstance(steps, TheoremConstraintSteps):
            return AscentSteps(self.objective_steps(k), steps(k), self.accelerated)
        count = steps(None)
        if steps.needs_violation and state is not None and state.evaluation.g.numel():
            rho = torch.linalg.vector_norm(state.gradients.g, dim=1, dtype=torch.float64)
            g = state.evaluation.g.clamp(min=0)
            violated = g[g * rho > 0].tolist()
            count = max([count, *map(steps, violated)])
        return AscentSteps(self.objective_steps(k), count, self.accelerated)
