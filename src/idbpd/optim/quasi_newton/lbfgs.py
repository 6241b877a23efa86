"""The metric H of the default method: a limited-memory BFGS inverse of the Lagrangian's Hessian, or a scaled identity.

A step teaches the next metric by the change of the Lagrangian's gradient along it. All decisions are made on the
device, by selection: the host need not know a number to enqueue the next metric.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import Gradients

# s'y is kept at least this share of s'Bs, as curvature along constraints may be negative. Powell has 0.2; the metric
# takes in more of what it sees with less.
_DAMPING = 0.1


class Metric(NamedTuple):
    """H as ``scale`` times H0, corrected by the pairs (s, y) = (step, change of the Lagrangian's gradient).

    H0 is what the oracle knows about curvature before the first step, or the identity. Pairs are stored divided by
    sqrt(s'y), which leaves H unchanged and keeps the small triangular systems well scaled.
    """

    scale: Tensor  # float64 scalar
    steps: Tensor  # (m, d) rows s_i, oldest first
    changes: Tensor  # (m, d) rows y_i
    cross: Tensor  # (m, m) s_i'y_j, float64
    gram: Tensor  # (m, m) y_i'y_j, float64
    initial: InitialMetric | None = None  # H0; None: the identity

    def apply(self, vectors: Tensor) -> Tensor:
        """H v for every row v, by the two-loop recursion written with matrix products so that all rows go at once."""
        m = self.steps.shape[0]
        scale = self.scale.to(vectors.dtype)
        if m == 0:
            return scale * (vectors if self.initial is None else self.initial.apply(vectors))
        S, Y, R = self.steps, self.changes, self.cross.triu()
        p, q = (S @ vectors.T).to(torch.float64), (Y @ vectors.T).to(torch.float64)
        a = torch.linalg.solve_triangular(R, p, upper=True)
        left = vectors - a.T.to(Y.dtype) @ Y
        if self.initial is None:
            seen = q - self.gram @ a
        else:
            left = self.initial.apply(left)
            seen = (Y @ left.T).to(torch.float64)
        rest = self.cross.diagonal().unsqueeze(1) * a - self.scale * seen
        b = torch.linalg.solve_triangular(R.T, rest, upper=False)
        result: Tensor = scale * left + b.T.to(S.dtype) @ S
        return result

    def updated(self, s: Tensor, y: Tensor, sy: Tensor, scale: Tensor, kept: Tensor, memory: int) -> "Metric":
        """H with the pair (s, y), of inner product ``sy`` > 0, as the newest; beyond ``memory`` the oldest goes.

        A pair that is not ``kept``, a boolean on the device, is replaced by one of zeros, which leaves H as it is.
        """
        root = sy.sqrt()
        keep = slice(1 if self.steps.shape[0] >= memory else 0, None)
        S = torch.cat([self.steps[keep], torch.where(kept, s / root, 0.0).unsqueeze(0)])
        Y = torch.cat([self.changes[keep], torch.where(kept, y / root, 0.0).unsqueeze(0)])
        column, row, square = (
            (S @ Y[-1]).to(torch.float64),
            (Y @ S[-1]).to(torch.float64),
            (Y @ Y[-1]).to(torch.float64),
        )
        # The last of a row of zeros must be one: the triangular systems divide by it.
        row = torch.cat([row[:-1], torch.where(kept, row[-1:], 1.0)])
        cross = torch.cat([torch.cat([self.cross[keep, keep], column[:-1, None]], 1), row[None, :]])
        gram = torch.cat([torch.cat([self.gram[keep, keep], square[:-1, None]], 1), square[None, :]])
        return Metric(torch.where(kept, scale, self.scale), S, Y, cross, gram, self.initial)


def without_pairs(like: Tensor, scale: float | Tensor = 1.0, initial: InitialMetric | None = None) -> Metric:
    """``scale`` times H0, by default the identity, for points like ``like``."""
    none, small = like.new_zeros((0, like.numel())), torch.zeros((0, 0), dtype=torch.float64, device=like.device)
    if not isinstance(scale, Tensor):
        scale = torch.full((), scale, dtype=torch.float64, device=like.device)
    return Metric(scale, none, none, small, small, initial)


def newton(hessian: Tensor, like: Tensor, flat: float) -> Metric:
    """The inverse of a Hessian, in which curvature upwards and downwards count alike; H is at most ``flat``.

    Its eigenvectors make pairs that are orthogonal in every sense, so that H is exact.
    """
    values, vectors = torch.linalg.eigh(hessian)
    sizes = values.abs()
    sizes = sizes.clamp(min=1.0 / flat)
    roots = sizes.sqrt().unsqueeze(1)
    rows = vectors.T
    scale, one = torch.full((), flat, dtype=torch.float64), torch.eye(sizes.numel(), dtype=torch.float64)
    return Metric(scale, (rows / roots).to(like), (roots * rows).to(like), one, torch.diag(sizes))


class Step(NamedTuple):
    """A step s = -t H v in the metric H, where v = sum of ``weights`` times the gradients at its beginning."""

    s: Tensor
    weights: Tensor  # (1 + c,) on the host: a and the multipliers
    t: float
    before: Gradients
    after: Gradients
    pull: Tensor | None = None  # v without what bounds on x hold, where there are any: s = -t H v is true of that


class LearntMetric(NamedTuple):
    """The metric after a step."""

    metric: Metric
    kept: Tensor  # a boolean on the device: whether the step has taught anything; if not, the newest pair is empty


def learn_pair(metric: Metric, step: Step, memory: int) -> LearntMetric:
    """The quasi-Newton metric after a step.

    The change y is taken with the same weights at both ends, so that it measures the Lagrangian's curvature and not
    the change of the multipliers. Along constraints that curvature may be negative; Powell's damping mixes in
    B s = -t v, which is known without B, until s'y is a fair share of s'Bs.
    """
    v, y, (ss, sy, yy, sv, vv, size) = _changes(step)
    t, sBs = step.t, -step.t * sv
    blur = (20 * torch.finfo(v.dtype).eps * size).square()  # a change of gradient as small as this is rounding
    # Where the metric promised a change that could be measured, and there is none, there is as good as no curvature.
    unseen = yy <= blur
    sy = torch.where(unseen, 0.0, sy)
    bent = yy
    if metric.initial is not None:
        bent = y.to(torch.float64) @ metric.initial.apply(y.unsqueeze(0))[0].to(torch.float64)
    scale = torch.where(sy > 1e-8 * (ss * yy).sqrt(), sy / bent, metric.scale)
    theta = torch.where(sy < _DAMPING * sBs, (1 - _DAMPING) * sBs / (sBs - sy), 1.0).to(v.dtype)
    y = theta * torch.where(unseen, 0.0, y) - (1 - theta) * t * v
    # A step too short to measure teaches nothing.
    kept = ~(unseen & (t * t * vv <= blur)) & (sBs > 0) & sy.isfinite()
    return LearntMetric(metric.updated(step.s, y, torch.maximum(sy, _DAMPING * sBs), scale, kept, memory), kept)


def learn_scale(metric: Metric, step: Step) -> LearntMetric:
    """The identity metric after a step: its scale, a step size, grows by at most sqrt 2 and stays below 1/(2L).

    L is the curvature of the Lagrangian that the step has seen.
    """
    _, _, (ss, _, yy, *_) = _changes(step)
    grown = math.sqrt(2) * metric.scale * step.t
    scale = torch.where(yy > 0, torch.minimum(grown, 0.5 * (ss / yy).sqrt()), grown)
    return LearntMetric(without_pairs(step.s, scale), torch.ones_like(scale, dtype=torch.bool))


def _changes(step: Step) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """v, y, and s's, s'y, y'y, s'v, v'v and the size of the terms that v is a sum of."""
    s, weights, _, old, new, pull = step
    w = weights.to(s)
    v = w[0] * old.f + w[1:] @ old.g
    y = w[0] * new.f + w[1:] @ new.g - v
    v = v if pull is None else pull.to(v)
    norms = torch.linalg.vector_norm(torch.cat([old.f.unsqueeze(0), old.g]), dim=1)
    vectors = torch.stack([s, y, v]).to(torch.float64)
    (ss, sy, sv), (_, yy, _), (_, _, vv) = (row.unbind() for row in (vectors @ vectors.T).unbind())
    return v, y, (ss, sy, yy, sv, vv, (w.abs() @ norms).to(torch.float64))
