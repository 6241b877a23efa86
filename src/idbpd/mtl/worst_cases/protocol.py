r"""What a worst case is, and its value.

A worst case weights the samples of a task against the model. For losses l of n samples it is

.. math:: \max_{y \in Y} \sum_i y_i l_i - c(y), \qquad Y \subseteq \Delta_n ,

with weights y on the simplex and the price c(y) of choosing them. A worst case is decided by two things: the maximiser
and the price. Its value, the cuts of a discretization and the bootstrap follow from them, and are written once, here.
"""

from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from idbpd.mtl.data import Task


class WorstCase(Protocol):
    """The exact maximiser, the price of weights, and what is protected in words.

    A worst case is a frozen dataclass. Its fields are its options, and ``__post_init__`` raises a ValueError for an
    option without meaning. It is listed by name in `idbpd.mtl.worst_cases.WORST_CASES`.
    """

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:
        """The worst weights, of the shape of ``losses``: (n,), or a worst case per row.

        ``samples`` says which sample of the task each loss belongs to; None: to all of them, in their order. A worst
        case needs it only where it knows something of each sample, such as its group: the bootstrap draws samples with
        repetition.
        """
        ...

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:
        """What weights of ``samples`` cost: one number, or one per row. Zero where they are only restricted to a set.

        It is asked only for weights that a maximiser gave, and for mixtures of them.
        """
        ...

    def protects(self, task: str, size: int) -> str:
        """What is protected, of a task with ``size`` samples: the end of a sentence that begins with "protects"."""
        ...


@runtime_checkable
class NeedsTask(Protocol):
    """An entry of `WORST_CASES` whose worst case depends on more of the samples than their losses."""

    def for_task(self, task: Task) -> WorstCase:
        """The worst case over the samples of a task; a ValueError says why there is none."""
        ...


class WorstWeighting(NamedTuple):
    """The worst weights of the samples, and the value of the worst case."""

    weights: Tensor  # (n,), on the simplex, float64
    value: Tensor  # scalar, float64


def worst_weighting(losses: Tensor, worst_case: WorstCase) -> WorstWeighting:
    """The worst case of ``losses``. Sums run in float64: a search compares differences that float32 does not show."""
    if losses.device.type == "mps":
        losses = losses.cpu()  # Apple's devices have no float64
    losses = losses.double()
    weights = worst_case.maximiser(losses)
    return WorstWeighting(weights, weights @ losses - worst_case.price(weights))


def worst_values_of_draws(losses: Tensor, draws: Tensor, worst_case: WorstCase) -> Tensor:
    """The worst case of every row of ``draws``, which says by position which of the losses were drawn."""
    drawn = losses[draws]
    weights = worst_case.maximiser(drawn, draws)
    return (weights * drawn).sum(dim=-1) - worst_case.price(weights, draws)


def values_at(weights: Tensor, losses: Tensor, worst_case: WorstCase) -> Tensor:
    """The weighted loss minus the price, for every row of weights; at most the value of the worst case."""
    return weights @ losses - worst_case.price(weights)


def worst_case_for(task: Task, entry: WorstCase | NeedsTask) -> WorstCase:
    """The worst case over the samples of a task, of an entry of the registry."""
    return entry.for_task(task) if isinstance(entry, NeedsTask) else entry
