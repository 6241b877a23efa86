"""Whether one model is better than another beyond chance, judged on the same samples.

Every block of samples is left out once, for both models alike (`idbpd.mtl.bounds.jackknife`). What is hard for both
cancels in the difference, and its spread over the blocks says what chance can do.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks
from idbpd.mtl.criterion import Criterion
from idbpd.mtl.data import Task
from idbpd.mtl.metrics import answered, headline_without, is_better

WORST_CASE = "worst_case_loss"
BLOCKS = 20
# A difference of so many standard errors is more than chance: Student's t with BLOCKS - 1 degrees of freedom, 95 %,
# one-sided.
SURE = 1.729


def spreads(task: Task, logits: Tensor, criterion: Criterion) -> dict[str, list[float]]:
    """The pseudo-values of a task's headline measures and worst case, by name; empty for too few samples."""
    if task.size < 2 * BLOCKS:
        return {}
    blocks = random_blocks(task.size, most=BLOCKS)
    losses = criterion.loss.values(logits, task.targets)
    found = {WORST_CASE: pseudo_values(losses, criterion.worst_case, blocks).tolist()}
    del losses
    here, kind = answered(task, logits, criterion.loss), task.meaning.kind
    # A block that is nowhere: the measure of all samples.
    whole = headline_without(kind, here, blocks + 1, 1)
    for name, without in headline_without(kind, here, blocks, BLOCKS).items():
        found[name] = [BLOCKS * whole[name][0] - (BLOCKS - 1) * left for left in without]
    return found


def is_surely_better(
    measure: str,
    value: float,
    other: float,
    spread: Mapping[str, list[float]],
    other_spread: Mapping[str, list[float]],
    *,
    sure: float = SURE,
) -> bool:
    """Whether a value of a measure is better than another one, by more than chance: ``sure`` standard errors.

    Where the spread is not known, or cannot be (too few samples, a measure that is not defined without a block),
    nothing is sure.
    """
    if not is_better(measure, value, other) or measure not in spread or measure not in other_spread:
        return False
    differences = torch.tensor(spread[measure], dtype=torch.float64) - torch.tensor(other_spread[measure])
    error = differences.std().item() / math.sqrt(len(differences))
    return abs(value - other) > sure * error
