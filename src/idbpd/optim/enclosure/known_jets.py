"""The jets of the tensors of a tape that are known so far, and its arguments as jets."""

from typing import Any

import torch
from torch import Tensor

from idbpd.optim.enclosure.jets import Frame, Jet, apply_unary, constant_jet, multiply, scale
from idbpd.optim.enclosure.tape import Ref
from idbpd.optim.enclosure.unary_rules import power


class NoRuleError(Exception):
    """An operation of which nothing is known over a box."""


class KnownJets:
    """What the operations so far have given."""

    def __init__(self, frame: Frame, count: int) -> None:
        """Nothing is known yet of ``count`` boxes."""
        self.frame, self.count = frame, count
        self.jets: dict[int, Jet] = {}
        self.booleans: dict[int, tuple[Tensor, Tensor]] = {}  # of a comparison: is surely true, may be true

    def jet(self, item: Any) -> Jet:
        """An argument as a jet."""
        if isinstance(item, Ref):
            if item.number not in self.jets:
                raise NoRuleError("a comparison used as a number")
            return self.jets[item.number]
        value = item.double() if isinstance(item, Tensor) else torch.tensor(float(item), dtype=torch.float64)
        return constant_jet(self.frame, value, self.count)

    def product(self, one: Any, other: Any) -> Jet:
        """The product of two arguments."""
        if isinstance(one, Ref) and isinstance(other, Ref):
            if one == other:
                return apply_unary(self.frame, self.jet(one), power(2.0))
            return multiply(self.frame, self.jet(one), self.jet(other))
        ref, factor = (one, other) if isinstance(one, Ref) else (other, one)
        return scale(self.jet(ref), number(factor))


def number(factor: Any) -> Tensor:
    """A constant argument as a tensor."""
    return factor.double() if isinstance(factor, Tensor) else torch.tensor(float(factor), dtype=torch.float64)


def refers(item: Any) -> bool:
    """Whether nested arguments have a tensor that depends on the function's own."""
    if isinstance(item, Ref):
        return True
    return isinstance(item, (list, tuple)) and any(refers(one) for one in item)
