"""Which point of a front to take."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from idbpd.mtl.drawn_quality import standard_error


class Candidate(NamedTuple):
    """A point of a front, as far as it counts for the choice."""

    eligible: bool  # its limits hold on unseen data, and it has a certificate
    loss: float  # the worst-case loss of the priority task on unseen data
    drawn: Tensor  # the same on draws of the test samples, the same for all points


def recommended(candidates: Mapping[float, Candidate]) -> float | None:
    """The slack of the point to take; None where no point can be recommended.

    The best for the priority task of the points whose limits hold would nearly always be the loosest one, for a gain
    that may be chance. So it is the tightest one that is not worse than the best by more than one standard error of
    their difference on the same samples (the one-standard-error rule of Breiman et al. 1984).
    """
    eligible = {slack: one for slack, one in sorted(candidates.items()) if one.eligible}
    if not eligible:
        return None
    best = min(eligible.values(), key=lambda one: one.loss)
    for slack, one in eligible.items():
        if one is best or one.loss - best.loss <= standard_error(one.drawn - best.drawn):
            return slack
    raise AssertionError("the best point is within the error of itself")
