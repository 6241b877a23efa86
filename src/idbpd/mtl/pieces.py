"""Millions of samples a piece at a time: losses are computed for each sample on its own, and temporaries stay small.

A piece is a million samples long. Tables that are no longer than that are computed at once.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from idbpd.mtl.losses import Loss

PIECE = 1 << 20  # samples


def pieces(samples: int) -> Iterator[slice]:
    """Ranges of samples, in order; none is empty.

    >>> [(piece.start, piece.stop) for piece in pieces(PIECE + 2)]
    [(0, 1048576), (1048576, 1048578)]
    """
    for begin in range(0, samples, PIECE):
        yield slice(begin, min(begin + PIECE, samples))


def loss_values(loss: Loss, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
    """`Loss.values`, of tables: the outputs of one sample lie along ``dim``, which is the first or the last."""
    samples = _samples(targets, dim)
    if samples <= PIECE:
        return loss.values(logits, targets, dim=dim)
    return torch.cat([loss.values(_some(logits, p, dim), _some(targets, p, dim), dim=dim) for p in pieces(samples)])


def loss_slopes(loss: Loss, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
    """`Loss.slope`, of tables."""
    samples = _samples(targets, dim)
    if samples <= PIECE:
        return loss.slope(logits, targets, dim=dim)
    found = torch.empty(targets.shape, dtype=torch.result_type(logits, targets), device=logits.device)
    for p in pieces(samples):
        _some(found, p, dim).copy_(loss.slope(_some(logits, p, dim), _some(targets, p, dim), dim=dim))
    return found


def _samples(table: Tensor, dim: int) -> int:
    return table.shape[1 - dim % 2]


def _some(table: Tensor, piece: slice, dim: int) -> Tensor:
    return table[piece] if dim % 2 else table[:, piece]
