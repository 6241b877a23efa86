"""Measures of a number."""

from idbpd.mtl.metrics.answered import Answered


def measure_number(answered: Answered) -> dict[str, float]:
    """The mean absolute error and the root of the mean squared error in the number's own unit, and R2.

    R2 is not defined where all numbers are the same.
    """
    known = ~answered.truths.isnan()
    truths = answered.truths[known]
    errors = answered.answers.double()[known] - truths
    squares = (truths - truths.mean()).square().sum()
    r2 = 1 - errors.square().sum() / squares if squares > 0 else squares * float("nan")
    return {
        "mae": answered.scale * errors.abs().mean().item(),
        "rmse": answered.scale * errors.square().mean().sqrt().item(),
        "r2": r2.item(),
    }
