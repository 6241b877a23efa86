"""The small non-negative quadratic program without waiting for the device: all faces of the orthant at once.

The minimiser over z >= 0 is the free minimiser on the face that it lies in. With c unknowns there are 2^c faces, one
small linear system each; for the few constraints that problems have it is cheaper on a device to solve them all in one
batch than to ask the host which to solve next, as the active-set method of `idbpd.optim.qp.active_set` does.
"""

import torch
from torch import Tensor

# 256 systems of 8 unknowns. Beyond that the host does it.
MOST_UNKNOWNS = 8
_EPS = torch.finfo(torch.float64).eps


def minimise_over_faces(quadratic: Tensor, linear: Tensor, allowed: Tensor, budget: float) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z over z >= 0 that is zero outside ``allowed``, for positive semidefinite Q.

    A minimiser whose sum is beyond the finite ``budget`` (there is none, and it runs away) is brought back to it.
    """
    c = linear.numel()
    # Constraints of very different size are brought to a common one; the ridge lets singular systems have a solution.
    size = quadratic.diagonal().clamp(min=0).sqrt()
    size = torch.where(size > 0, size, 1.0)
    identity = torch.eye(c, dtype=torch.float64, device=linear.device)
    Q, b = quadratic / torch.outer(size, size) + 64 * _EPS * identity, linear / size
    numbers = torch.arange(2**c, device=linear.device)
    free = ((numbers.unsqueeze(1) >> torch.arange(c, device=linear.device)) & 1).to(torch.bool) & allowed
    # A row and a column of the identity for what is held at zero.
    inside = free.unsqueeze(2) & free.unsqueeze(1)
    systems = torch.where(inside, Q, identity)
    # In three parts, because torch's one-call solutions read a number on the way (pivots, or whether all went well).
    lower: Tensor = torch.linalg.cholesky_ex(systems)[0]
    half = torch.linalg.solve_triangular(lower, torch.where(free, -b, 0.0).unsqueeze(2), upper=False)
    z = torch.linalg.solve_triangular(lower.mT, half, upper=True).squeeze(2)
    feasible = (z >= 0).all(dim=1)
    z = z.clamp(min=0)
    values = 0.5 * ((z @ Q) * z).sum(dim=1) + z @ b
    # The face without free unknowns is always feasible: there is a smallest value.
    best = torch.where(feasible, values, torch.inf).argmin(keepdim=True)
    found: Tensor = z.index_select(0, best).squeeze(0) / size
    share: Tensor = (budget / found.sum()).clamp(max=1.0)
    return found * share
