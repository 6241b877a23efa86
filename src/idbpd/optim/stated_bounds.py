"""What a user may write for a value per variable, bounds or sizes, and the flat vector that it means."""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.layout import Layout

# A number for all variables, a tensor in the shape of x0, or a dict of those with the names of x0; None: not given.
PerVariable: TypeAlias = float | Tensor | Mapping[str, "float | Tensor | None"] | None


def flat_bounds(bounds: tuple[PerVariable, PerVariable] | None, layout: Layout, x: Tensor) -> Bounds | None:
    """The bounds of a problem for the flat ``x``; None where every variable is free."""
    if bounds is None:
        return None
    low = flat_values("bounds[0]", bounds[0], layout, x, -torch.inf)
    high = flat_values("bounds[1]", bounds[1], layout, x, torch.inf)
    for name, values, wrong in (("bounds[0]", low, torch.inf), ("bounds[1]", high, -torch.inf)):
        if bool((values == wrong).any()):
            raise ValueError(f"{name}: {wrong} leaves no x; use None or {-wrong} where a variable is free")
    crossed = (low > high).nonzero().flatten().tolist()
    if crossed:
        place = layout.place(crossed[0])
        raise ValueError(
            f"bounds: low must be at most high, but {place} has {float(low[crossed[0]])} and {float(high[crossed[0]])}"
        )
    return Bounds(low, high) if bool((low.isfinite() | high.isfinite()).any()) else None


def flat_values(name: str, value: PerVariable, layout: Layout, x: Tensor, missing: float) -> Tensor:
    """A value per variable as a flat vector like ``x``, ``missing`` where there is none."""
    names, parts = layout.names, []
    if isinstance(value, Mapping):
        if names is None:
            raise TypeError(f"{name} must be a number or a tensor of shape {tuple(layout.shapes[0])}, as x0 is no dict")
        unknown = [key for key in value if key not in names]
        if unknown:
            raise ValueError(f"{name} has {unknown[0]!r}, which x0 has not; x0 has {', '.join(names)}")
        pairs = [(f"{name}[{key!r}]", value.get(key)) for key in names]
    elif names is not None and isinstance(value, Tensor) and value.dim() > 0:
        raise TypeError(f"{name} must be a number or a dict with names of x0, as x0 is a dict, got a tensor")
    else:
        pairs = [(name, value)] * len(layout.shapes)
    for (label, one), shape in zip(pairs, layout.shapes, strict=True):
        if one is None:
            parts.append(x.new_full((shape.numel(),), missing))
            continue
        if isinstance(one, bool) or not isinstance(one, int | float | Tensor):
            raise TypeError(f"{label} must be a number, a tensor or None, got {type(one).__name__}")
        given = torch.as_tensor(one).detach().to(x)
        if given.dim() > 0 and given.shape != shape:
            raise ValueError(
                f"{label} must have the shape {tuple(shape)} of x0, or be a number, got {tuple(given.shape)}"
            )
        if bool(given.isnan().any()):
            raise ValueError(f"{label} must not hold NaN")
        parts.append(given.expand(shape).reshape(-1))
    return torch.cat(parts)
