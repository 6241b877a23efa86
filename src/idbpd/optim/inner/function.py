"""A function of y or w alone, with the derivatives that inner maximisation asks for."""

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_FEW = 3  # rows of a Hessian that are as fast one by one: `torch.vmap` has a cost of its own
# Points at once: a function of large data must not need as many times its memory as a grid has points, and the first
# grid of a line, of 129, should be one call.
_CHUNK = 150

PointFunction = Callable[[Tensor], Tensor]


class Local(NamedTuple):
    """Value (float64) and gradient at one point."""

    point: Tensor
    value: Tensor
    gradient: Tensor


class Maximum(NamedTuple):
    """A maximiser, its value and the estimated bound on what is missing to the maximum (both float64 scalars)."""

    point: Tensor
    value: Tensor
    error: Tensor

    @classmethod
    def at(cls, here: Local, error: float) -> "Maximum":
        """The point ``here`` as the maximiser, with this error."""
        return cls(here.point, here.value, torch.full_like(here.value, error))


class InnerFunction:
    """A function of a point, with values in float64 and with derivatives."""

    def __init__(self, function: PointFunction) -> None:
        """Wrap ``function``, which returns a scalar tensor."""
        self._function = function

    def value(self, point: Tensor) -> Tensor:
        """The value alone, in float64."""
        with torch.no_grad():
            return self._call(point).double()

    def values(self, points: Tensor, batched: bool) -> Tensor:
        """The values at a batch of points, in one call if ``batched``; the function must then allow `torch.vmap`."""
        if not batched:
            return torch.stack([self.value(point) for point in points])
        # Torch warns of an operation that it has to loop over; here that is as good as a loop of our own.
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.vmap(self._function, chunk_size=_CHUNK)(points).double()

    def values_somehow(self, points: Tensor) -> Tensor:
        """The values at a batch of points, in one call where the function allows it."""
        try:
            return self.values(points, batched=True)
        except Exception:  # it branches on its argument, say, or reads a number out of it; one by one it may do so
            return self.values(points, batched=False)

    @property
    def function(self) -> PointFunction:
        """The function itself."""
        return self._function

    def local(self, point: Tensor) -> Local:
        """Value and gradient."""
        with torch.enable_grad():
            leaf = point.detach().requires_grad_(True)
            value = self._call(leaf)
            return Local(point, value.detach().double(), _gradient(value, leaf))

    def curvatures(self, point: Tensor, directions: Sequence[Tensor]) -> list[Tensor] | None:
        """The Hessian times each direction; None where the function can be differentiated only once."""
        with torch.enable_grad():
            leaf = point.detach().requires_grad_(True)
            gradient = _gradient(self._call(leaf), leaf, keep_graph=True)
            if not gradient.requires_grad:
                return [torch.zeros_like(point) for _ in directions]
            try:
                return [_gradient((gradient * direction).sum(), leaf, again=True) for direction in directions]
            except RuntimeError:  # e.g. an operation whose backward pass is marked as not differentiable
                return None

    def second_order(self, point: Tensor) -> tuple[Local, Tensor | None]:
        """Value, gradient and Hessian; the Hessian over the flattened coordinates, in float64."""
        with torch.enable_grad():
            leaf = point.detach().requires_grad_(True)
            value = self._call(leaf)
            gradient = _gradient(value, leaf, keep_graph=True)
            here = Local(point, value.detach().double(), gradient.detach())
            n = point.numel()
            if not gradient.requires_grad:
                return here, torch.zeros(n, n, dtype=torch.float64, device=point.device)
            rows = _rows(gradient, leaf)
        if rows is None:
            return here, None
        matrix = rows.reshape(n, n).double()
        return here, 0.5 * (matrix + matrix.T)

    def _call(self, point: Tensor) -> Tensor:
        value = self._function(point)
        if value.shape != ():
            raise ValueError(f"a function to maximise must return a scalar tensor, not the shape {tuple(value.shape)}")
        return value


def _gradient(value: Tensor, leaf: Tensor, keep_graph: bool = False, again: bool = False) -> Tensor:
    """The gradient, zero where the value does not depend on the leaf."""
    if not value.requires_grad:
        return torch.zeros_like(leaf)
    keep = keep_graph or again
    (gradient,) = torch.autograd.grad(value, leaf, create_graph=keep_graph, retain_graph=keep, allow_unused=True)
    return torch.zeros_like(leaf) if gradient is None else gradient


def mixed_derivatives(
    function: Callable[[Tensor, Tensor], Tensor], x: Tensor, point: Tensor
) -> tuple[Tensor, Tensor] | None:
    """The gradient in the point, (n,) float64, and how each of its entries changes with x, (n, d); None where the
    function can be differentiated only once.
    """
    with torch.enable_grad():
        variable, leaf = x.detach().requires_grad_(True), point.detach().requires_grad_(True)
        gradient = _gradient(function(variable, leaf), leaf, keep_graph=True)
        slopes = gradient.detach().flatten().double()
        if not gradient.requires_grad:
            return slopes, x.new_zeros(slopes.numel(), x.numel())
        rows = _rows(gradient, variable)
    return None if rows is None else (slopes, rows.reshape(slopes.numel(), x.numel()).detach())


def _rows(gradient: Tensor, leaf: Tensor) -> Tensor | None:
    """The gradients of all entries of ``gradient``, in one pass where that can be; None where there are none."""
    n = gradient.numel()
    if n > _FEW:
        units = torch.eye(n, dtype=gradient.dtype, device=gradient.device).reshape(n, *gradient.shape)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as in `InnerFunction.values`
                (rows,) = torch.autograd.grad(
                    gradient, leaf, units, retain_graph=True, allow_unused=True, is_grads_batched=True
                )
            return leaf.new_zeros(n, *leaf.shape) if rows is None else rows
        except Exception:  # a backward pass that takes no batch may fail in any way; one by one it may do
            pass
    try:
        return torch.stack([_gradient(entry, leaf, again=True) for entry in gradient.flatten().unbind()])
    except RuntimeError:  # e.g. an operation whose backward pass is marked as not differentiable
        return None
