"""How a point of the user's shape, a tensor or a dict of named tensors, becomes the flat vector of the methods."""

import math
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

Point: TypeAlias = Tensor | Mapping[str, Tensor]


class Layout(NamedTuple):
    """The names and shapes behind a flat vector; ``names`` is None when the point is a single tensor."""

    names: tuple[str, ...] | None
    shapes: tuple[torch.Size, ...]

    def restore(self, flat: Tensor) -> Tensor | dict[str, Tensor]:
        """The flat vector in the user's shape, as views: gradients flow through."""
        pieces = torch.split(flat, [math.prod(shape) for shape in self.shapes])
        shaped = [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]
        return shaped[0] if self.names is None else dict(zip(self.names, shaped, strict=True))

    def place(self, index: int) -> str:
        """The name of an entry of the flat vector in the user's shape."""
        names: tuple[str, ...] = ("",) if self.names is None else self.names
        for name, shape in zip(names, self.shapes, strict=True):
            if index < shape.numel():
                at = [int(i) for i in torch.unravel_index(torch.tensor(index), shape)] if shape else []
                return f"x{[name] if name else ''}{at or ''}"
            index -= shape.numel()
        raise IndexError(index)


def flatten(x0: Point) -> tuple[Tensor, Layout]:
    """A fresh flat copy of ``x0`` and the layout to undo it; an error says why no method could start from ``x0``."""
    if isinstance(x0, Tensor):
        names, tensors = None, [x0]
    elif isinstance(x0, Mapping):
        names, tensors = tuple(x0), list(x0.values())
    else:
        raise TypeError(f"x0 must be a tensor or a dict of named tensors, got {type(x0).__name__}")
    labels = ["x0"] if names is None else [f"x0[{name!r}]" for name in names]
    for label, tensor in zip(labels, tensors, strict=True):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{label} must be a tensor, got {type(tensor).__name__}")
        if not tensor.is_floating_point():
            raise TypeError(
                f"{label} has dtype {tensor.dtype}; a floating-point dtype is needed, such as torch.float64"
            )
    if sum(tensor.numel() for tensor in tensors) == 0:
        raise ValueError("x0 has no element; at least one variable is needed")
    kinds = {(tensor.dtype, tensor.device) for tensor in tensors}
    if len(kinds) > 1:
        listed = ", ".join(f"{label}: {t.dtype} on {t.device}" for label, t in zip(labels, tensors, strict=True))
        raise ValueError(f"all tensors of x0 must share one dtype and one device, got {listed}")
    for label, tensor in zip(labels, tensors, strict=True):
        wild = int((~tensor.isfinite()).sum())
        if wild:
            raise ValueError(f"{label} has {wild} entries that are not finite; a run needs a finite start")
    flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    return flat, Layout(names, tuple(tensor.shape for tensor in tensors))
