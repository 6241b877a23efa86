"""Whether one model is better than another beyond chance, judged on the same samples.

Every block of samples is left out once, for both models alike (`idbpd.mtl.bounds.jackknife`). What is hard for both
cancels in the difference, and its spread over the blocks says what chance can do.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks
from idbpd.mtl.criterion import Criterion
from idbpd.mtl.data import Task
from idbpd.mtl.metrics import HEADLINE, is_better, task_metrics

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
    whole = task_metrics(task, logits, criterion.loss)
    without = [_without(task, logits, blocks != block, criterion) for block in range(BLOCKS)]
    for name in HEADLINE[task.meaning.kind]:
        found[name] = [BLOCKS * whole[name] - (BLOCKS - 1) * left[name] for left in without]
    return found


def _without(task: Task, logits: Tensor, kept: Tensor, criterion: Criterion) -> dict[str, float]:
    groups = None if task.groups is None else task.groups[kept.to(task.groups.device)]
    fewer = replace(task, rows=task.rows[kept], targets=task.targets[kept], groups=groups)
    return task_metrics(fewer, logits[kept], criterion.loss)


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
