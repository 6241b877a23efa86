"""The first measures of a task when one block of samples after the other is left out.

All measures of all subsets would take most of the time that is spent on a table of millions of rows.
"""

from collections.abc import Callable, Mapping

from torch import Tensor

from idbpd.mtl.kinds import Kind
from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.macro import roc_aucs_without
from idbpd.mtl.metrics.number import mean_absolute_error, share_explained
from idbpd.mtl.metrics.one_of_many import hit_rate, share_of_right_classes
from idbpd.mtl.metrics.yes_no import share_of_right_answers

Without = Callable[[Answered, Tensor, int], list[float]]


def headline_without(kind: Kind, answered: Answered, blocks: Tensor, count: int) -> dict[str, list[float]]:
    """What `idbpd.mtl.metrics.HEADLINE` names, by name: a value for every block that is left out."""
    return {name: without(answered, blocks, count) for name, without in _WITHOUT[kind].items()}


def _each(measure: Callable[[Answered], float]) -> Without:
    def without(answered: Answered, blocks: Tensor, count: int) -> list[float]:
        return [measure(answered.of(blocks != block)) for block in range(count)]

    return without


def _areas(answered: Answered, blocks: Tensor, count: int) -> list[float]:
    return roc_aucs_without(answered.answers, answered.truths, blocks, count)


_WITHOUT: Mapping[Kind, Mapping[str, Without]] = {
    "binary": {"accuracy": _each(share_of_right_answers), "roc_auc": _areas},
    "classes": {"accuracy": _each(share_of_right_classes)},
    "labels": {"roc_auc": _areas, "accuracy": _each(share_of_right_answers)},
    "number": {"mae": _each(mean_absolute_error), "r2": _each(share_explained)},
    "distribution": {"hit_rate": _each(hit_rate)},
}
