"""The operations of an `Expression`: on numbers, and on a tensor of many numbers at once."""

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Binary = Callable[[Any, Any], Any]


def _of_number(function: Callable[[float], float]) -> Binary:
    return lambda u, _: function(u)


def _of_tensor(function: Callable[[Tensor], Tensor]) -> Binary:
    return lambda u, _: function(u)


def _sigmoid(u: float) -> float:
    return 1.0 / (1.0 + math.exp(-u)) if u >= 0 else math.exp(u) / (1.0 + math.exp(u))


def _softplus(u: float) -> float:
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


def _step(u: float) -> float:
    return 1.0 if u > 0 else 0.0


def _at_least(u: float, v: float) -> float:
    return 1.0 if u >= v else 0.0


def _sign(u: float) -> float:
    return math.copysign(1.0, u) if u != 0 else 0.0


# By name: on numbers, and on a tensor (of which the other argument may be a number).
_BINARY: dict[str, tuple[Binary, Binary]] = {
    "add": (operator.add, operator.add),
    "sub": (operator.sub, operator.sub),
    "mul": (operator.mul, operator.mul),
    "div": (operator.truediv, operator.truediv),
    "pow": (math.pow, operator.pow),
    "max": (max, lambda u, v: torch.maximum(*_tensors(u, v))),
    "min": (min, lambda u, v: torch.minimum(*_tensors(u, v))),
    "at_least": (_at_least, lambda u, v: (u >= v).to(torch.float64)),
}
_UNARY: dict[str, tuple[Callable[[float], float], Callable[[Tensor], Tensor]]] = {
    "neg": (operator.neg, operator.neg),
    "exp": (math.exp, torch.exp),
    "expm1": (math.expm1, torch.expm1),
    "log": (math.log, torch.log),
    "log1p": (math.log1p, torch.log1p),
    "sqrt": (math.sqrt, torch.sqrt),
    "sin": (math.sin, torch.sin),
    "cos": (math.cos, torch.cos),
    "tanh": (math.tanh, torch.tanh),
    "sinh": (math.sinh, torch.sinh),
    "cosh": (math.cosh, torch.cosh),
    "atan": (math.atan, torch.atan),
    "erf": (math.erf, torch.erf),
    "sigmoid": (_sigmoid, torch.sigmoid),
    "softplus": (_softplus, torch.nn.functional.softplus),
    "abs": (abs, torch.abs),
    "sign": (_sign, torch.sign),
    "step": (_step, lambda u: (u > 0).to(torch.float64)),
}
UNARY = frozenset(_UNARY)
OPERATIONS = {
    **_BINARY,
    **{name: (_of_number(one), _of_tensor(many)) for name, (one, many) in _UNARY.items()},
}
KINKED = frozenset({"max", "min", "at_least", "abs", "sign", "step"})


def _tensors(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    like = u if isinstance(u, Tensor) else v
    return torch.as_tensor(u).to(like), torch.as_tensor(v).to(like)
