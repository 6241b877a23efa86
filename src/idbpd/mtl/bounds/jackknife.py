r"""How much each part of the test samples moves a worst case.

The samples are put into m blocks at random, and every block is left out once. With W the worst case of all samples
and W_b that without block b, the pseudo-values are

.. math:: p_b = m W - (m - 1) W_b .

They behave like m independent values whose mean is the worst case of the distribution, whatever the worst case is
(Tukey 1958). For the mean loss and blocks of one sample they are the losses. Their mean has less bias than W, which
is too low on average: its weights were chosen on the samples that they are applied to.
"""

import torch
from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl.worst_cases import WorstCase, worst_values_of_draws, worst_weighting

# Leaving out single samples costs n^2; with more blocks than this the bounds cover the truth no better.
MOST_BLOCKS = 100
# How many numbers are gathered at a time. It bounds the memory: 32 MB a copy.
NUMBERS_AT_A_TIME = 2**22


def random_blocks(n: int, *, most: int = MOST_BLOCKS, seed: int = 0) -> Tensor:
    """The block of every sample: as many blocks as samples where there are few, and else ``most``, equally large."""
    if n < 2:
        raise DataError(f"a bound needs at least 2 test samples, got {n}")
    # On the host: the same blocks on every device.
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return torch.empty_like(order).scatter_(0, order, torch.arange(n) * min(n, most) // n)


def pseudo_values(losses: Tensor, worst_case: WorstCase, blocks: Tensor) -> Tensor:
    """One pseudo-value per block, float64, in host memory. Two models are compared on the same blocks."""
    if losses.device.type == "mps":
        losses = losses.cpu()  # Apple's devices have no float64
    losses = losses.double()
    n, sizes = len(losses), blocks.bincount()
    without = torch.empty(len(sizes), dtype=losses.dtype)
    for size in sorted(set(sizes.tolist())):  # rows of one batch have one length
        for some in (sizes == size).nonzero()[:, 0].split(max(1, NUMBERS_AT_A_TIME // n)):
            kept = blocks != some[:, None]
            draws = torch.arange(n).expand_as(kept)[kept].view(len(some), n - size)
            without[some] = worst_values_of_draws(losses, draws.to(losses.device), worst_case).cpu()
    value = worst_weighting(losses, worst_case).value.cpu()
    return len(sizes) * value - (len(sizes) - 1) * without


def value_with_another_loss(
    losses: Tensor, worst_case: WorstCase, blocks: Tensor, values: Tensor, sample: int, loss: float
) -> Tensor:
    """The pseudo-value that the block of ``sample`` would have, if that sample had the loss ``loss``."""
    changed = losses.double().clone()
    changed[sample] = loss
    more = worst_weighting(changed, worst_case).value - worst_weighting(losses, worst_case).value
    return values[blocks[sample]] + len(values) * more.cpu()
