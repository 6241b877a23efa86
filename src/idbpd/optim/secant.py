"""What one step teaches about curvature: the next metric from the change of the Lagrangian's gradient along the step."""

import math

import torch
from torch import Tensor

from idbpd.optim.metric import Metric, identity
from idbpd.optim.oracle import Gradients

_DAMPING = 0.1


def learn_pair(
    metric: Metric, s: Tensor, weights: Tensor, t: float, old: Gradients, new: Gradients, memory: int
) -> Metric:
    """The quasi-Newton metric after the step ``s`` = -t H v with v = sum of ``weights`` times the old gradients.

    The change y is taken with the same weights (a and the multipliers) at both ends, so that it measures the Lagrangian's curvature
    and not the change of the multipliers. Along constraints that curvature may be negative; Powell's damping mixes in B s = -t v, which
    is known without B, until s'y is a fair share of s'Bs.
    """
    v, y, numbers = _changes(s, weights, old, new)
    ss, sy, yy, sv, vv, size = numbers
    sBs = -t * sv
    blur = 20 * torch.finfo(s.dtype).eps * size  # a change of gradient as small as this is rounding
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
    return metric.updated(s, y, sy, scale, memory)


def learn_scale(metric: Metric, s: Tensor, weights: Tensor, t: float, old: Gradients, new: Gradients) -> Metric:
    """The identity metric after a step: its scale, a step size, grows by at most sqrt 2 and stays below 1/(2L), L the local curvature."""
    _, _, (ss, _, yy, *_) = _changes(s, weights, old, new)
    grown = math.sqrt(2) * metric.scale * t
    return identity(s, min(grown, 0.5 * math.sqrt(ss / yy)) if yy > 0 else grown)


def _changes(s: Tensor, weights: Tensor, old: Gradients, new: Gradients) -> tuple[Tensor, Tensor, list[float]]:
    """v, y, and in one transfer the numbers s's, s'y, y'y, s'v, v'v and the size of the terms that v is a sum of."""
    w = weights.to(s)
    v = w[0] * old.f + w[1:] @ old.g
    y = w[0] * new.f + w[1:] @ new.g - v
    norms = torch.linalg.vector_norm(torch.cat([old.f.unsqueeze(0), old.g]), dim=1)
    vectors = torch.stack([s, y, v]).to(torch.float64)
    products = (vectors @ vectors.T).flatten()[[0, 1, 4, 2, 8]]
    numbers: list[float] = torch.cat([products, (w.abs() @ norms).to(torch.float64).reshape(1)]).tolist()
    return v, y, numbers
