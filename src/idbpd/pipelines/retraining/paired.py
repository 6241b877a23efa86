"""The new model and an earlier one on the same test samples."""

import math
from typing import NamedTuple

from torch import Tensor

from idbpd.mtl.bounds import paired_bootstrap
from idbpd.mtl.criterion import Criterion

CONFIDENCE = 0.95
# Fixed, and not the seed of a run: the same two models get the same verdict.
BOOTSTRAP_SEED = 0


class Paired(NamedTuple):
    """The worst-case losses of both models, and what is known of their difference on the data they come from."""

    new: float
    old: float
    rows: int
    worse_by: float | None  # with this confidence the new model is worse by at least this; below 0: not shown
    better_by: float | None  # the same for better; None where the samples cannot tell

    @property
    def is_shown_worse(self) -> bool:
        """Whether the new model is worse, with confidence."""
        return self.worse_by is not None and self.worse_by > 0

    @property
    def is_shown_better(self) -> bool:
        """Whether the new model is better, with confidence."""
        return self.better_by is not None and self.better_by > 0


def compare(new: Tensor, old: Tensor, criterion: Criterion) -> Paired:
    """Compare the losses of two models; entry i of both is the same sample."""
    new, old = new.double(), old.double()
    value, reference = (criterion.worst(losses).value.item() for losses in (new, old))
    return Paired(value, reference, len(new), exceeds_by(new, old, criterion), exceeds_by(old, new, criterion))


def exceeds_by(
    larger: Tensor, smaller: Tensor, criterion: Criterion, *, slack: float = 0.0, confidence: float = CONFIDENCE
) -> float | None:
    """By how much, at least, the worst case of ``larger`` exceeds (1 + slack) times that of ``smaller``.

    The lower bound of a difference is the upper bound of its negative. With the slack on the other side that is
    (1 + slack) times the bound of W(smaller) - W(larger) / (1 + slack). None where the samples cannot tell.
    """
    other_way = 1 / (1 + slack) - 1
    found = paired_bootstrap(
        smaller.double(),
        larger.double(),
        criterion.worst_case,
        slack=other_way,
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    bound = (1 + slack) * found.difference_bound
    return -bound if math.isfinite(bound) else None
