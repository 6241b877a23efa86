"""Distributions near the uniform one: the sets ``{y in simplex : V(y, 1/n) <= rho}`` of distributionally robust
training.

V is an f-divergence ``(1/n) sum_i h(n y_i)``: ``h(t) = (t - 1)^2 / 2`` for chi-square, ``h(t) = t log t - t + 1`` for
Kullback-Leibler. Near the uniform distribution the two agree to leading order, so that one radius means about the
same in both. The work is done in float64 whatever the dtype of the argument, as the radius is a difference of nearly
equal numbers.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from idbpd.optim.sets.base import DistributionSet, require_radius
from idbpd.optim.sets.monotone_root import increasing_root
from idbpd.optim.sets.simplex_projection import project_onto_simplex


@dataclass(frozen=True)
class _DivergenceBall(DistributionSet):
    """The distributions whose divergence from the uniform one is at most ``radius``."""

    radius: float

    def __post_init__(self) -> None:
        """Check ``n`` and ``radius``."""
        super().__post_init__()
        require_radius(type(self).__name__, self.radius)

    @abstractmethod
    def divergence(self, y: Tensor) -> Tensor:
        """How far ``y`` is from the uniform distribution, in float64."""

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether ``v`` is a probability vector and its divergence at most the radius, all to within ``tolerance``."""
        return self.are_distributions(v, tolerance) & (self.divergence(v) <= self.radius + tolerance)


@final
@dataclass(frozen=True)
class ChiSquareBall(_DivergenceBall):
    """The probability vectors with ``(n/2) ||y - 1/n||^2 <= radius``: the part of the simplex in a ball.

    Projection and linear maximum lie on one path, ``t -> P(1/n + t d)`` with P the projection onto the simplex, along
    which the distance to the uniform distribution only grows. The path is piecewise linear in t, so that the t where
    it meets the ball comes from a sort and a square root: nothing is iterated.
    """

    def project(self, v: Tensor) -> Tensor:
        """The nearest point; entries must be finite, or NaN comes back."""
        w = self.require_points(v).double()
        nearest = project_onto_simplex(w)
        inside = self.divergence(nearest) <= self.radius
        return torch.where(inside[..., None], nearest, self._meet_sphere(w)).to(v.dtype)

    def support(self, direction: Tensor) -> Tensor:
        """The worst distribution for the losses ``direction``."""
        return self._meet_sphere(self.require_points(direction).double()).to(direction.dtype)

    def divergence(self, y: Tensor) -> Tensor:
        """``(n/2) ||y - 1/n||^2``, in float64."""
        return 0.5 * self.n * (y.double() - 1.0 / self.n).square().sum(dim=-1)

    def _meet_sphere(self, d: Tensor) -> Tensor:
        """Where the path along ``d`` leaves the ball; its end, uniform on the largest entries, if it never does."""
        n, r2 = self.n, 2.0 * self.radius / self.n
        d = d - d.amax(dim=-1, keepdim=True)
        spread = -d.amin(dim=-1, keepdim=True)
        d = d / torch.where(spread == 0.0, 1.0, spread)
        d = torch.where(d > -1e-100, 0.0, d)  # treated as zero: its square underflows
        down = d.sort(dim=-1, descending=True).values
        k = torch.arange(1, n + 1, dtype=d.dtype, device=d.device)
        mean = down.cumsum(dim=-1) / k
        # With the k largest entries alive, y_i = 1/k + t (d_i - mean_k) and ||y - 1/n||^2 = 1/k - 1/n + t^2 scatter_k.
        scatter = (down.square().cumsum(dim=-1) - k * mean.square()).clamp(min=0.0)
        # The k-th dies at this t: the entries alive on the sphere are those that die outside of the ball.
        death = 1.0 / (k * (mean - down)).clamp(min=0.0)
        outside = torch.where(death.isinf(), torch.inf, 1.0 / k - 1.0 / n + death.square() * scatter) > r2
        alive = outside.sum(dim=-1, keepdim=True).clamp(min=1)
        floor = down.gather(-1, alive - 1)
        y = torch.full_like(d, 1.0 / n)
        # The prefix sums above cancel; with the support known, mean and scatter are taken afresh and about the mean.
        # The second round repairs a support that was wrong by an entry whose weight is of the order of rounding.
        mask = d >= floor
        for _ in range(2):
            count = mask.sum(dim=-1, keepdim=True).to(d.dtype)
            offset = torch.where(mask, d - torch.where(mask, d, 0.0).sum(dim=-1, keepdim=True) / count, 0.0)
            spread = offset.square().sum(dim=-1, keepdim=True)
            room = (r2 - (1.0 / count - 1.0 / n)).clamp(min=0.0)
            t = torch.where(spread > 0.0, (room / spread).sqrt(), 0.0)
            y = torch.where(mask, (1.0 / count + t * offset).clamp(min=0.0), 0.0)
            mask = mask & (y > 0.0)
        return y + (d - d).sum(dim=-1, keepdim=True)  # a NaN or an infinite entry has no answer: this makes all NaN


@final
@dataclass(frozen=True)
class KLBall(_DivergenceBall):
    """The probability vectors with ``sum_i y_i log(n y_i) <= radius``.

    The linear maximum is ``y ~ exp(beta d)``, with beta from one monotone equation. The projection solves ``y_i + mu
    log y_i = v_i - nu`` (Wright's omega function) with nu such that y sums to one, and mu such that the divergence is
    the radius.
    """

    def project(self, v: Tensor) -> Tensor:
        """The nearest point; entries must be finite, or NaN comes back."""
        w = self.require_points(v).double()
        nearest = project_onto_simplex(w)
        outside = ~(self.divergence(nearest) <= self.radius)
        if bool(outside.any()):
            nearest[outside] = self._project_outside(w[outside])
        return nearest.to(v.dtype)

    def support(self, direction: Tensor) -> Tensor:
        """The worst distribution for the losses ``direction``: an exponential tilt of the uniform one."""
        d = self.require_points(direction).double()
        d = d - d.amax(dim=-1, keepdim=True)
        spread = -d.amin(dim=-1, keepdim=True)
        d = d / torch.where(spread == 0.0, 1.0, spread)
        gap = torch.where(d < 0.0, -d, torch.inf).amin(dim=-1, keepdim=True)
        # From beta = 800 / gap on, every smaller entry has the weight exp(-800) = 0: the tilt is uniform on the
        # largest entries, and as far from 1/n as it gets. At the lower end the divergence is below the radius, as it
        # is at most min(beta, beta^2 / 8).
        end = torch.where(gap.isinf(), 1.0, 800.0 / gap)
        low = torch.full_like(end, max(self.radius, math.sqrt(8.0 * self.radius))).log()
        high = torch.maximum(end.log(), low)

        def excess(log_beta: Tensor) -> tuple[Tensor, Tensor]:
            beta = log_beta.exp()
            y = torch.softmax(beta * d, dim=-1)
            centred = d - (y * d).sum(dim=-1, keepdim=True)
            v = self.divergence(y)[..., None]
            # In log-log coordinates the divergence is nearly a straight line of slope 2, which Newton's method likes.
            slope = beta.square() * (y * centred.square()).sum(dim=-1, keepdim=True) / v
            return v.log() - math.log(self.radius), slope

        log_beta = increasing_root(excess, low, high, low)
        return torch.softmax(log_beta.exp() * d, dim=-1).to(direction.dtype)

    def divergence(self, y: Tensor) -> Tensor:
        """``sum_i y_i log(n y_i)`` of a probability vector, in float64, summed over terms that are never negative."""
        e = self.n * y.double().clamp(min=0.0) - 1.0
        terms: Tensor = torch.special.xlog1py(1.0 + e, e) - e
        return terms.sum(dim=-1) / self.n

    def _project_outside(self, v: Tensor) -> Tensor:
        """The projection of points whose projection onto the simplex lies outside the ball."""
        v = v - v.amax(dim=-1, keepdim=True)
        spread = -v.amin(dim=-1, keepdim=True)
        # log y_i differ by at most spread / mu, and then the divergence is at most (spread / mu)^2 / 8 and spread / mu.
        high = (spread / max(self.radius, math.sqrt(8.0 * self.radius))).log()
        low = high - 80.0
        nu = torch.full_like(high, -1.0)

        def shortfall(minus_log_mu: Tensor) -> tuple[Tensor, Tensor]:
            nonlocal nu
            mu = (-minus_log_mu).exp()
            nu = self._normaliser(v, mu, nu)
            y = _weights(v, mu, nu)
            logs = torch.where(y > 0.0, y.log(), 0.0)
            q = y / (y + mu)
            centred = logs - (q * logs).sum(dim=-1, keepdim=True) / q.sum(dim=-1, keepdim=True)
            divergence = self.divergence(y)[..., None]
            slope = mu * (q * centred.square()).sum(dim=-1, keepdim=True) / divergence
            return divergence.log() - math.log(self.radius), slope

        minus_log_mu = increasing_root(shortfall, -high, -low, -high)
        mu = (-minus_log_mu).exp()
        return _weights(v, mu, self._normaliser(v, mu, nu))

    def _normaliser(self, v: Tensor, mu: Tensor, guess: Tensor) -> Tensor:
        """The nu for which the weights sum to one; ``v`` has its largest entry at 0, which brackets nu."""
        low = torch.full_like(mu, -1.0)  # the largest weight alone is 1
        high = mu * math.log(self.n) - 1.0 / self.n  # no weight above 1/n

        def deficit(nu: Tensor) -> tuple[Tensor, Tensor]:
            y = _weights(v, mu, nu)
            total = y.sum(dim=-1, keepdim=True)
            return -total.log(), (y / (y + mu)).sum(dim=-1, keepdim=True) / total

        high = torch.maximum(high, low)
        return increasing_root(deficit, low, high, guess.clamp(min=low, max=high))


def _weights(v: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
    """The y with ``y + mu log y = v - nu``: mu times Wright's omega of ``(v - nu) / mu - log mu``."""
    x = (v - nu) / mu - mu.log()
    # omega + log omega = x. Below -40 omega is exp(x) to the last bit; elsewhere three steps of fourth order do.
    start = torch.where(
        x > 1.0, x - x.clamp(min=1.0).log(), x.clamp(max=1.0).exp() / (1.0 + 0.6 * x.clamp(max=1.0).exp())
    )
    omega = start.clamp(min=1e-300)
    for _ in range(3):
        rest = x - omega - omega.log()
        a = 1.0 + omega
        b = a * (a + (2.0 / 3.0) * rest)
        omega = (omega * (1.0 + (rest / a) * (b - 0.5 * rest) / (b - rest))).clamp(min=1e-300)
    return mu * torch.where(x < -40.0, x.exp(), omega)
