"""The metric of a small problem by second derivatives of the Lagrangian, and how far it follows flat directions."""

import torch
from torch import Tensor

from idbpd.optim.device_reads import truth
from idbpd.optim.kinks.bundle import Bundle
from idbpd.optim.oracle import CurvedOracle, Oracle
from idbpd.optim.quasi_newton.arc_search import Found
from idbpd.optim.quasi_newton.lbfgs import LearntMetric, newton

# Share of the residual that a step leaves, above which flat directions may be followed further: Newton leaves less.
_SLOW = 0.3
_SHORTEST_FLAT, _LONGEST_FLAT = 1e-8, 1e30  # wide: an objective may have no lower bound there, and must be followed
_FURTHER = 10.0  # times as far as in the last step: any length is found in a few steps


def exact_metric(
    oracle: Oracle, rows: Bundle, into: list[int], weights: Tensor, like: Tensor, flat: float
) -> LearntMetric | None:
    """The metric by second derivatives of the Lagrangian, where an oracle knows them and there is curvature at all."""
    if not isinstance(oracle, CurvedOracle):
        return None
    total = [0.0] * len(rows.terms)
    for row, weight in zip(into, weights.tolist(), strict=True):
        total[row] += weight
    hessian = oracle.curvature(like, rows.terms, rows.points, total)
    if hessian is None or not truth(hessian.isfinite().all()):
        return None
    return LearntMetric(newton(hessian, like, flat), torch.ones((), dtype=torch.bool))


def next_flat(flat: float, found: Found, before: float, after: float) -> float:
    """How far the next step may follow flat directions, after one that has changed the residual.

    Further where full steps do not bring the residual down, and less far where trials were refused: the search need not
    shorten the step in the other directions, too.
    """
    t = found.proposal.t
    if t < 1 or found.refused:
        return max(flat * max(t, 1 / _FURTHER), _SHORTEST_FLAT)
    return min(_FURTHER * flat, _LONGEST_FLAT) if after > _SLOW * before else flat
