"""How good the best constant answers to the tasks are: what a model must be better than."""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from idbpd.mtl.constant_guess import constant_logits
from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.quality import TaskQuality, task_quality


def measure_constant(
    train: MultiTaskData, parts: Mapping[str, MultiTaskData], criteria: Criteria
) -> dict[str, dict[str, TaskQuality]]:
    """The quality of constant answers that were chosen on the training data, by part and task.

    There are two constants for each task. The worst-case, maximum and tail losses are those of the constant with the
    least worst-case loss; all other measures are those of the constant with the least mean loss.
    """
    constants = {task.name: _constants(task, criteria(task)) for task in train.tasks}
    return {
        part: {task.name: _measured(task, constants[task.name], criteria(task)) for task in data.tasks}
        for part, data in parts.items()
    }


def constant_quality(task: Task, criterion: Criterion) -> TaskQuality:
    """The quality of the best constant answers to a task on its own samples."""
    return _measured(task, _constants(task, criterion), criterion)


def _constants(task: Task, criterion: Criterion) -> tuple[Tensor, Tensor]:
    """The constant outputs with the least worst-case loss, and those with the least mean loss."""
    targets = task.targets.cpu().double()
    return constant_logits(targets, criterion), criterion.loss.guess(targets)


def _measured(task: Task, constants: tuple[Tensor, Tensor], criterion: Criterion) -> TaskQuality:
    here = replace(task, rows=task.rows.cpu(), targets=task.targets.cpu().double())
    robust, usual = (task_quality(here, constant.expand_as(here.targets), criterion) for constant in constants)
    return usual._replace(
        worst_case_loss=robust.worst_case_loss, maximum_loss=robust.maximum_loss, cvar_loss=robust.cvar_loss
    )
