"""Measures of a number."""

from torch import Tensor

from idbpd.mtl.metrics.answered import Answered


def measure_number(answered: Answered) -> dict[str, float]:
    """The mean absolute error and the root of the mean squared error in the number's own unit, and R2.

    R2 is not defined where all numbers are the same.
    """
    errors, _ = _known(answered)
    return {
        "mae": mean_absolute_error(answered),
        "rmse": answered.scale * errors.square().mean().sqrt().item(),
        "r2": share_explained(answered),
    }


def mean_absolute_error(answered: Answered) -> float:
    """In the number's own unit."""
    return answered.scale * _known(answered)[0].abs().mean().item()


def share_explained(answered: Answered) -> float:
    """R2: one less the share of the squares about the mean that is left."""
    errors, truths = _known(answered)
    squares = (truths - truths.mean()).square().sum()
    return (1 - errors.square().sum() / squares if squares > 0 else squares * float("nan")).item()


def _known(answered: Answered) -> tuple[Tensor, Tensor]:
    """The errors where the truth is known, and the truth."""
    known = ~answered.truths.isnan()
    truths = answered.truths[known]
    return answered.answers.double()[known] - truths, truths
