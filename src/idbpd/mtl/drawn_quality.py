"""How a measure varies with the samples that happen to be in the test part: the bootstrap over them (Efron 1979)."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.metrics import HEADLINE, task_metrics
from idbpd.mtl.quality import task_logits
from idbpd.mtl.worst_cases import worst_values_of_draws

DRAWS = 200  # enough for a standard error
# Fixed, and not the seed of a run: models are compared by the same draws.
SEED = 0
NUMBERS_AT_A_TIME = 2**22  # it bounds the memory: 32 MB a copy


class DrawnQuality(NamedTuple):
    """A task on every draw of its samples, with repetition. Models have the same draws, so that they can be paired."""

    worst_case_loss: Tensor  # (draws,), float64
    headline: Tensor  # (draws,), float64; the first measure that people ask for. NaN where it is not defined


@torch.no_grad()
def draw_quality(
    network: nn.Module, data: MultiTaskData, criteria: Criteria, draws: int = DRAWS
) -> dict[str, DrawnQuality]:
    """The worst-case loss and the headline measure of every task on draws of its samples, by the task's name."""
    return {task.name: _drawn(task, outputs, criteria(task), draws) for task, outputs in task_logits(network, data)}


def standard_error(values: Tensor) -> float:
    """The deviation of a measure over draws; draws in which it is not defined do not count.

    >>> standard_error(torch.tensor([1.0, 2.0, 3.0, float("nan")]))
    1.0
    """
    known = values[~values.isnan()]
    return known.std().item() if len(known) > 1 else float("nan")


def _drawn(task: Task, outputs: Tensor, criterion: Criterion, count: int) -> DrawnQuality:
    losses = criterion.loss.values(outputs, task.targets).double()
    measure = HEADLINE[task.meaning.kind][0]
    generator = torch.Generator().manual_seed(SEED)
    worst, headline = [], []
    at_a_time = max(1, NUMBERS_AT_A_TIME // task.size)
    for first in range(0, count, at_a_time):
        rows = min(at_a_time, count - first)
        draws = torch.randint(task.size, (rows, task.size), generator=generator)
        worst.append(worst_values_of_draws(losses, draws, criterion.worst_case))
        for draw in draws:
            drawn = replace(task, rows=task.rows[draw], targets=task.targets[draw], groups=None)
            headline.append(task_metrics(drawn, outputs[draw], criterion.loss)[measure])
    return DrawnQuality(torch.cat(worst), torch.tensor(headline, dtype=torch.float64))
