"""What one step teaches about curvature: the next metric from the change of the Lagrangian's gradient along it."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.metric import Metric, identity
from idbpd.optim.oracle import Gradients

_DAMPING = 0.1


class Step(NamedTuple):
    """A step s = -t H v in the metric H, where v = sum of ``weights`` times the gradients at its beginning."""

    s: Tensor
    weights: Tensor  # (1 + c,) on the host: a and the multipliers
    t: float
    before: Gradients
    after: Gradients


def learn_pair(metric: Metric, step: Step, memory: int) -> Metric:
    """The quasi-Newton metric after a step.

    The change y is taken with the same weights at both ends, so that it measures the Lagrangian's curvature and not
    the change of the multipliers. Along constraints that curvature may be negative; Powell's damping mixes in
    B s = -t v, which is known without B, until s'y is a fair share of s'Bs.
    """
    v, y, (ss, sy, yy, sv, vv, size) = _changes(step)
    t, sBs = step.t, -step.t * sv
    blur = 20 * torch.finfo(v.dtype).eps * size  # a change of gradient as small as this is rounding
    if yy <= blur**2:
        if t * t * vv <= blur**2:
            return metric  # a step too short to measure teaches nothing
        # The metric promised a change that could be measured, and there is none: as good as no curvature.
        sy, y = 0.0, torch.zeros_like(y)
    if not (sBs > 0 and math.isfinite(sy)):
        return metric
    scale = sy / yy if sy > 1e-8 * math.sqrt(ss * yy) else metric.scale
    if sy < _DAMPING * sBs:
        theta = (1 - _DAMPING) * sBs / (sBs - sy)
        y = theta * y - (1 - theta) * t * v
        sy = _DAMPING * sBs
    return metric.updated(step.s, y, sy, scale, memory)


def learn_scale(metric: Metric, step: Step) -> Metric:
    """The identity metric after a step: its scale, a step size, grows by at most sqrt 2 and stays below 1/(2L).

    L is the curvature of the Lagrangian that the step has seen.
    """
    _, _, (ss, _, yy, *_) = _changes(step)
    grown = math.sqrt(2) * metric.scale * step.t
    return identity(step.s, min(grown, 0.5 * math.sqrt(ss / yy)) if yy > 0 else grown)


def _changes(step: Step) -> tuple[Tensor, Tensor, list[float]]:
    """v, y, and in one transfer s's, s'y, y'y, s'v, v'v and the size of the terms that v is a sum of."""
    s, weights, _, old, new = step
    w = weights.to(s)
    v = w[0] * old.f + w[1:] @ old.g
    y = w[0] * new.f + w[1:] @ new.g - v
    norms = torch.linalg.vector_norm(torch.cat([old.f.unsqueeze(0), old.g]), dim=1)
    vectors = torch.stack([s, y, v]).to(torch.float64)
    products = (vectors @ vectors.T).flatten()[[0, 1, 4, 2, 8]]
    numbers: list[float] = torch.cat([products, (w.abs() @ norms).to(torch.float64).reshape(1)]).tolist()
    return v, y, numbers
