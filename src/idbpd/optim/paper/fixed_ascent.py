"""A stated number of projected gradient steps: how Algorithm 1 keeps its maximisers up to date."""

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, same
from idbpd.optim.inner.function import InnerFunction, PointFunction
from idbpd.optim.sets.base import ConvexSet

# Of the power method for the largest curvature: a step size need not be exact, and where the curvature is the same in
# all directions, as in the paper, one is enough.
_POWER_STEPS = 3


def ascend(
    function: PointFunction,
    over: ConvexSet,
    start: Tensor,
    steps: int,
    *,
    step_size: float | Tensor | None = None,
    accelerated: bool = False,
) -> Tensor:
    """Take exactly ``steps`` steps ``y <- P(y + step_size * grad)`` from ``start``, with Nesterov's momentum if
    ``accelerated``.

    Without a ``step_size`` it is 1/L, L the curvature found at the start by a few steps of the power method on
    Hessian-vector products. On ``linear - c/2 ||y - y0||^2`` that is c exactly, and one step from anywhere is the
    maximiser. Nothing here waits for a device; on the host, steps that would not change a bit are left out.
    """
    if steps < 0:
        raise ValueError(f"ascend: steps must not be negative, but is {steps}")
    if isinstance(step_size, float) and not step_size > 0.0:
        raise ValueError(f"ascend: step_size must be positive, but is {step_size}")
    f = InnerFunction(function)
    y = over.project(start.detach())
    if steps == 0:
        return y
    size = _inverse_curvature(f, y) if step_size is None else step_size
    z = y
    for k in range(steps):
        ahead = over.project(z + size * f.local(z).gradient)
        if is_here(y) and same(ahead, z) and same(ahead, y):
            break  # a fixed point of the map: all further steps would give the same, to the last bit
        # The classical weights k / (k + 3): no constant of the function is needed.
        z = ahead + k / (k + 3.0) * (ahead - y) if accelerated else ahead
        y = ahead
    return y


def _is_multiple(vector: Tensor, unit: Tensor) -> bool:
    """Whether a vector in host memory is a multiple of a unit vector, up to rounding, and not zero."""
    v, u = vector.numpy().ravel(), unit.numpy().ravel()
    size = abs(v).max()
    return bool(size > 0.0 and abs(v - (v @ u) * u).max() <= 8 * torch.finfo(vector.dtype).eps * size)


def _inverse_curvature(f: InnerFunction, y: Tensor) -> Tensor:
    """1/L for the largest curvature L at ``y``; where there is none, a step as long as the point is."""
    gradient = f.local(y).gradient
    v = gradient
    L = gradient.new_zeros(())
    for _ in range(_POWER_STEPS):
        length = torch.linalg.vector_norm(v)
        unit = torch.where(length > 0.0, v / length, 1.0 / y.numel() ** 0.5)
        products = f.curvatures(y, [unit])
        if products is None:
            break
        v = products[0]
        L = torch.linalg.vector_norm(v)
        if is_here(y) and _is_multiple(v, unit):
            break  # an eigenvector, as every vector is where the curvature is the same in all directions
    slope = torch.linalg.vector_norm(gradient)
    reach = (1.0 + torch.linalg.vector_norm(y)) / torch.where(slope > 0.0, slope, 1.0)
    return torch.where(L > 0.0, 1.0 / L, reach)
