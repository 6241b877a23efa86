"""The equalities of a problem: functions of x alone, with one or more entries each, as one vector."""

from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.optim.layout import Layout
from idbpd.optim.problem import Equality, Problem
from idbpd.optim.scaling import Scaling


def equality_counts(problem: Problem, layout: Layout, x: Tensor) -> tuple[int, ...]:
    """How many entries each equality has, by a look at one point."""
    with torch.no_grad():
        return tuple(
            _checked(f"equalities[{i}]", h(layout.restore(x))).numel() for i, h in enumerate(problem.equalities)
        )


class Equalities:
    """All equalities of a problem, multiplied by their factors."""

    def __init__(self, problem: Problem, layout: Layout, counts: Sequence[int], scaling: Scaling) -> None:
        """``counts`` has the number of entries of each."""
        self._functions: tuple[Equality, ...] = tuple(problem.equalities)
        self._counts, self._layout, self._scaling = tuple(counts), layout, scaling
        first = len(problem.constraints)
        self._factors = [scaling.factor(first + i) for i in range(self.count)]

    @property
    def count(self) -> int:
        """The number of entries of all of them."""
        return sum(self._counts)

    def values(self, x: Tensor) -> Tensor:
        """All entries at ``x``, in float64."""
        with torch.no_grad():
            return self._at(x).double()

    def entry(self, x: Tensor, place: int) -> Tensor:
        """One entry, by operations on ``x`` that can be recorded."""
        factor = self._factors[place]
        for h, count in zip(self._functions, self._counts, strict=True):
            if place < count:
                value = h(self._layout.restore(self._scaling.outward(x))).reshape(-1)[place]
                return value if factor == 1.0 else factor * value
            place -= count
        raise IndexError(f"there are {self.count} entries of equalities")

    def linearise(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """All entries, in float64, and their gradients, (count, d)."""
        variable = x.detach().requires_grad_()
        with torch.enable_grad():
            values = self._at(variable)
        if not values.requires_grad:
            raise ValueError("equalities do not depend on x through differentiable torch operations")
        rows = [
            torch.autograd.grad(value, variable, retain_graph=True, allow_unused=True)[0] for value in values.unbind()
        ]
        gradients = torch.stack([torch.zeros_like(x) if row is None else row for row in rows])
        return values.detach().double(), gradients

    def _at(self, x: Tensor) -> Tensor:
        point = self._layout.restore(self._scaling.outward(x))
        parts = [_checked(f"equalities[{i}]", h(point)).reshape(-1) for i, h in enumerate(self._functions)]
        for i, (part, count) in enumerate(zip(parts, self._counts, strict=True)):
            if part.numel() != count:
                raise ValueError(
                    f"equalities[{i}] must always have {count} entries, as at the start, got {part.numel()}"
                )
        values = torch.cat(parts)
        return values if all(factor == 1.0 for factor in self._factors) else values * values.new_tensor(self._factors)


def _checked(name: str, result: object) -> Tensor:
    if not isinstance(result, Tensor) or not result.is_floating_point() or result.numel() == 0:
        found = (
            f"a {result.dtype} of shape {tuple(result.shape)}" if isinstance(result, Tensor) else type(result).__name__
        )
        raise TypeError(f"{name} must return a floating-point tensor with at least one entry, got {found}")
    return result
