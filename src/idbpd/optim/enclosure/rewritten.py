"""Operations of torch in terms of simpler ones, for which there are rules."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_MEAN, _SUM = 1, 2  # torch's numbers for the reductions of a loss
_MOST_FACTORS = 64  # of a product that is written out: more are rare, and the tape grows by one operation for each


def reduced(losses: Tensor, reduction: int) -> Tensor:
    """The mean, the sum or all of them."""
    return losses.mean() if reduction == _MEAN else losses.sum() if reduction == _SUM else losses


def _log_softmax(v: Tensor, dim: int, _half: bool = False) -> Tensor:
    return v - torch.logsumexp(v, dim, keepdim=True)


def _softmax(v: Tensor, dim: int, _half: bool = False) -> Tensor:
    return torch.exp(_log_softmax(v, dim))


def _softplus(v: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:  # noqa: ARG001
    return torch.nn.functional.softplus(v * beta) / beta


def _log_sigmoid(v: Tensor) -> tuple[Tensor, Tensor]:
    return -torch.nn.functional.softplus(-v), torch.zeros(0)


def _nll(
    v: Tensor, target: Tensor, weight: Tensor | None, reduction: int, _ignored: int
) -> tuple[Tensor, Tensor] | None:
    if weight is not None or v.dim() != 2 or bool((target < 0).any()):
        return None
    chosen = v.gather(1, target.unsqueeze(1)).squeeze(1)
    return reduced(-chosen, reduction), torch.tensor(float(target.numel()))


def _logistic(
    v: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = _MEAN
) -> Tensor | None:
    if weight is not None or pos_weight is not None:
        return None
    return reduced(torch.nn.functional.softplus(v) - target * v, reduction)


def _variance(v: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    axes = tuple(range(v.dim())) if dim is None or dim == [] else dim
    count = math.prod(v.shape[axis] for axis in ([axes] if isinstance(axes, int) else axes))
    spread = (v - v.mean(axes, keepdim=True)).square().sum(axes, keepdim=keepdim)
    return spread / (count - (1 if correction is None else correction))


def _product(v: Tensor, dim: int | None = None, keepdim: bool = False, **_: Any) -> Tensor | None:
    if keepdim or (v.numel() if dim is None else v.shape[dim]) > _MOST_FACTORS:
        return None
    return _multiplied(v.flatten().unbind() if dim is None else v.unbind(dim))[-1]


def _running_product(v: Tensor, dim: int, **_: Any) -> Tensor | None:
    return torch.stack(_multiplied(v.unbind(dim)), dim) if v.shape[dim] <= _MOST_FACTORS else None


def _multiplied(factors: Sequence[Tensor]) -> list[Tensor]:
    found = [factors[0]]
    for factor in factors[1:]:
        found.append(found[-1] * factor)
    return found


def _power(base: Any, exponent: Any) -> Tensor | None:
    """Constant exponents, one for each entry; or a constant base."""
    if not isinstance(base, Tensor):
        return torch.exp(exponent * math.log(base)) if base > 0 else None
    if not isinstance(exponent, Tensor) or exponent.dim() > 1 or exponent.numel() > _MOST_FACTORS:
        return None
    powers = exponent.reshape(-1).tolist()
    if exponent.dim() == 0:
        single: Tensor = base ** powers[0]
        return single
    bases = (base + 0 * exponent).unbind(-1)
    return torch.stack([one**power for one, power in zip(bases, powers, strict=True)], dim=-1)


REWRITTEN: dict[str, Callable[..., Any]] = {
    "aten::mse_loss": lambda a, b, reduction=_MEAN: reduced((a - b).square(), reduction),
    "aten::l1_loss": lambda a, b, reduction=_MEAN: reduced((a - b).abs(), reduction),
    "aten::silu": lambda v: v * torch.sigmoid(v),
    "aten::logaddexp": lambda a, b: torch.logsumexp(torch.stack([a + 0 * b, b + 0 * a]), 0),
    "aten::_log_softmax": _log_softmax,
    "aten::_softmax": _softmax,
    "aten::log_sigmoid_forward": _log_sigmoid,
    "aten::nll_loss_forward": _nll,
    "aten::binary_cross_entropy_with_logits": _logistic,
    "aten::var": _variance,
    "aten::std": lambda *args, **kwargs: _variance(*args, **kwargs).sqrt(),
    "aten::prod": _product,
    "aten::cumprod": _running_product,
    "aten::hypot": lambda a, b: (a.square() + b.square()).sqrt(),
    "aten::dist": lambda a, b, p=2: torch.linalg.vector_norm(a - b, p),
    "aten::tan": lambda v: torch.sin(v) / torch.cos(v),
    "aten::exp2": lambda v: torch.exp(v * math.log(2.0)),
    "aten::log2": lambda v: torch.log(v) / math.log(2.0),
    "aten::log10": lambda v: torch.log(v) / math.log(10.0),
    "aten::deg2rad": lambda v: v * (math.pi / 180.0),
    "aten::lerp": lambda a, b, share: a + share * (b - a),
    "aten::addcdiv": lambda a, b, c, value=1: a + value * b / c,
    "aten::linalg_cross": lambda a, b, dim=-1: a.roll(-1, dim) * b.roll(-2, dim) - a.roll(-2, dim) * b.roll(-1, dim),
    "aten::xlogy": lambda a, b: a * torch.log(b),
    "aten::special_entr": lambda v: -(v * torch.log(v)),
    "aten::hardtanh": lambda v, low=-1.0, high=1.0: v.clamp(low, high),
    "aten::acosh": lambda v: torch.log(v + (v.square() - 1).sqrt()),
    "aten::asinh": lambda v: torch.log(v + (v.square() + 1).sqrt()),
    "aten::atanh": lambda v: 0.5 * (torch.log1p(v) - torch.log1p(-v)),
}
# Only where their arguments are other than those for which there is a rule.
CONDITIONAL: dict[str, tuple[Callable[..., bool], Callable[..., Any]]] = {
    "aten::pow": (lambda base, power: isinstance(power, Tensor) or not isinstance(base, Tensor), _power),
    "aten::softplus": (lambda v, beta=1, threshold=20: beta != 1 or threshold != 20, _softplus),  # noqa: ARG005
}
