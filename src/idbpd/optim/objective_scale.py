"""The size of an objective: one that is small everywhere would meet an absolute tolerance at the start.

Where all gradients that are looked at are tiny, the objective is multiplied by a factor above 1 inside of a run, and
results are divided by it. The residuals that end the run are then larger than those that are reported, never smaller.
"""

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here
from idbpd.optim.kkt import KKT, Residuals
from idbpd.optim.method import Iterate
from idbpd.optim.oracle import Oracle
from idbpd.optim.solution import Record, Solution

_TINY = 1e-4  # slope below which an objective may be small
_LARGEST = 1e15  # factor
_PROBES = 4


def objective_scale(oracle: Oracle, x: Tensor, first: Iterate) -> float:
    """The factor for an objective, by its slopes at the start and around it; 1 for an objective of ordinary size."""
    # Looking would wait for a device, and in float32 rounding leaves no room for a stricter test.
    if not is_here(x) or x.dtype != torch.float64:
        return 1.0
    slope = _slope(first.gradients.f)
    if not 0.0 < slope < _TINY:
        return 1.0  # exactly 0 is a stationary point, or an objective that does not matter
    slopes = [slope]
    for seed in range(_PROBES):
        generator = torch.Generator().manual_seed(seed)
        direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
        there = oracle.evaluate(x + (1.0 + x.abs()) * direction, first.evaluation.maximisers)
        found = _slope(oracle.differentiate(there).f)
        if found >= _TINY:
            return 1.0
        slopes.append(found)
    return min(1.0 / max(slopes), _LARGEST)


def _slope(gradient: Tensor) -> float:
    """The length of a gradient; infinite where it is not finite."""
    return float(torch.linalg.vector_norm(gradient.double()).nan_to_num(torch.inf, torch.inf))


def unscaled_record(record: Record, scale: float) -> Record:
    """A step as it is of the objective itself."""
    if scale == 1.0:
        return record
    stationarity, infeasibility, slackness = record.kkt
    kkt = Residuals(stationarity / scale, infeasibility, slackness / scale)
    return record._replace(f=record.f / scale, multipliers=record.multipliers / scale, kkt=kkt)


def unscaled_solution(solution: Solution, scale: float) -> Solution:
    """An answer as it is of the objective itself. The bound on inner errors stays: it is that of the larger one."""
    if scale == 1.0:
        return solution
    stationarity, infeasibility, slackness = solution.kkt
    return solution._replace(
        f=solution.f / scale,
        multipliers=solution.multipliers / scale,
        kkt=KKT(stationarity / scale, infeasibility, slackness / scale),
    )
