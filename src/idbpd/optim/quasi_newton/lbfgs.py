"""The metric H in which a direction is steepest: a limited-memory BFGS inverse of the Lagrangian's Hessian, or a scaled
identity.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Metric(NamedTuple):
    """H as ``scale`` times the identity, corrected by the pairs (s, y) = (step, change of the Lagrangian's gradient).

    Pairs are stored divided by sqrt(s'y), which leaves H unchanged and keeps the small triangular systems well scaled.
    """

    scale: Tensor  # float64 scalar
    steps: Tensor  # (m, d) rows s_i, oldest first
    changes: Tensor  # (m, d) rows y_i
    cross: Tensor  # (m, m) s_i'y_j, float64
    gram: Tensor  # (m, m) y_i'y_j, float64

    def apply(self, vectors: Tensor) -> Tensor:
        """H v for every row v, by the two-loop recursion written with matrix products so that all rows go at once."""
        m = self.steps.shape[0]
        scale = self.scale.to(vectors.dtype)
        if m == 0:
            return scale * vectors
        S, Y, R = self.steps, self.changes, self.cross.triu()
        p, q = (S @ vectors.T).to(torch.float64), (Y @ vectors.T).to(torch.float64)
        a = torch.linalg.solve_triangular(R, p, upper=True)
        rest = self.cross.diagonal().unsqueeze(1) * a - self.scale * (q - self.gram @ a)
        b = torch.linalg.solve_triangular(R.T, rest, upper=False)
        result: Tensor = scale * (vectors - a.T.to(Y.dtype) @ Y) + b.T.to(S.dtype) @ S
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
        return Metric(torch.where(kept, scale, self.scale), S, Y, cross, gram)


def identity(like: Tensor, scale: float | Tensor = 1.0) -> Metric:
    """``scale`` times the identity, for points like ``like``."""
    none, small = like.new_zeros((0, like.numel())), torch.zeros((0, 0), dtype=torch.float64, device=like.device)
    if not isinstance(scale, Tensor):
        scale = torch.full((), scale, dtype=torch.float64, device=like.device)
    return Metric(scale, none, none, small, small)
