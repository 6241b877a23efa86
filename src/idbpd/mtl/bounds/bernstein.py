"""A bound of a mean that holds for every number of samples, if the values are bounded."""

import math

from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl.bounds.confidence import check_confidence


def empirical_bernstein_upper(values: Tensor, low: float, high: float, confidence: float = 0.95) -> Tensor:
    r"""The mean of ``values`` (..., n), independent and in [low, high], plus what chance may add.

    .. math:: \bar v + \sqrt{2 V \ln(2/\delta) / n} + 7 (high - low) \ln(2/\delta) / (3 (n - 1))

    with the sample variance V and delta = 1 - confidence (Maurer and Pontil 2009, theorem 4). Nothing is assumed of
    the distribution. One bound per row.
    """
    check_confidence(confidence)
    values = values.double()
    n = values.shape[-1]
    if n < 2:
        raise DataError(f"a bound needs at least 2 test samples, got {n}")
    if not low <= high:
        raise ValueError(f"low must be at most high, got {low} and {high}")
    if not bool(((values >= low) & (values <= high)).all()):
        raise ValueError(
            f"values must be from {low:g} to {high:g}, got {values.min().item():g} to {values.max().item():g}"
        )
    logarithm = math.log(2 / (1 - confidence))
    chance = (2 * values.var(dim=-1) * logarithm / n).sqrt() + 7 * (high - low) * logarithm / (3 * (n - 1))
    return (values.mean(dim=-1) + chance).clamp(max=high)
