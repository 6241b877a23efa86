"""How the outputs of a network for one task become one number."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.worst_cases import WorstCase, WorstWeighting, worst_weighting


class Criterion(NamedTuple):
    """The loss of each sample of a task, and the worst case over these samples."""

    loss: Loss
    worst_case: WorstCase

    def worst(self, losses: Tensor) -> WorstWeighting:
        """The worst weights of samples with these losses, and the value they give."""
        return worst_weighting(losses, self.worst_case)


# The criterion of a task on the data at hand: a worst case may need to know more of each sample than its loss, such as
# its group, and the training part has other samples than the test part.
Criteria = Callable[[Task], Criterion]


def same_for_all(loss: Loss, worst_case: WorstCase) -> Criteria:
    """One criterion for every task, on any data."""
    criterion = Criterion(loss, worst_case)
    return lambda task: criterion  # noqa: ARG005
