"""A function over a product of sets as one over a single factor, the other parts held where they are."""

from torch import Tensor

from idbpd.optim.inner.function import PointFunction
from idbpd.optim.sets import Product


def replaced(over: Product, at: Tensor, number: int, part: Tensor) -> Tensor:
    """A point of the product with another part."""
    parts = over.split(at)
    return over.joined((*parts[:number], part.to(at), *parts[number + 1 :]))


def on_factor(function: PointFunction, over: Product, at: Tensor, number: int) -> PointFunction:
    """The function of one part."""
    return lambda part: function(replaced(over, at, number, part))
