"""The range of functions of one number, and of their first two derivatives, over an interval.

Those of functions with a kink are in `bent_rules`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from idbpd.optim.enclosure.bent_rules import absolute, huber, leaky, relu
from idbpd.optim.enclosure.intervals import Interval, between, constant, even, everything, sound, wave
from idbpd.optim.enclosure.ranges import Ranges, Rule, float64


def _exp(v: Interval) -> Ranges:
    e = v.mapped(torch.exp)
    return Ranges(e, e, e)


def _expm1(v: Interval) -> Ranges:
    e = v.mapped(torch.exp)
    return Ranges(v.mapped(torch.expm1), e, e)


def _on_positive(v: Interval, ranges: Callable[[Interval], Ranges]) -> Ranges:
    """Ranges that hold where the argument is positive; nothing is known elsewhere."""
    is_inside = v.low > 0
    all_numbers = everything(v.low)
    inside = Interval(torch.where(is_inside, v.low, 1.0), torch.where(is_inside, v.high, 1.0))
    return Ranges(*(one.where(is_inside, all_numbers) for one in ranges(inside)))


def _falling(v: Interval, function: Callable[[Tensor], Tensor]) -> Interval:
    return sound(function(v.high), function(v.low))


def _log(v: Interval) -> Ranges:
    return _on_positive(
        v, lambda u: Ranges(u.mapped(torch.log), _falling(u, torch.reciprocal), u.mapped(lambda s: -(s**-2.0)))
    )


def _log1p(v: Interval) -> Ranges:
    return _log(Interval(v.low + 1, v.high + 1))


def _xlogx(v: Interval) -> Ranges:
    """X log x, which is 0 at 0."""
    is_inside = v.low >= 0
    all_numbers = everything(v.low)
    inside = Interval(torch.where(is_inside, v.low, 1.0), torch.where(is_inside, v.high, 1.0))
    ranges = Ranges(
        _peaked(inside, lambda s: torch.xlogy(s, s), (math.exp(-1),)),
        inside.mapped(lambda s: torch.log(s) + 1),
        _falling(inside, torch.reciprocal),
    )
    return Ranges(*(one.where(is_inside, all_numbers) for one in ranges))


def _sqrt(v: Interval) -> Ranges:
    inside = _on_positive(
        v,
        lambda u: Ranges(
            u.mapped(torch.sqrt), _falling(u, lambda s: 0.5 * s**-0.5), u.mapped(lambda s: -0.25 * s**-1.5)
        ),
    )
    value = Interval(v.low.clamp(min=0), v.high.clamp(min=0)).mapped(torch.sqrt)  # a sum of squares may round below 0
    slope, bend = (
        Interval(torch.where(v.low > 0, one.low, low), torch.where(v.low > 0, one.high, high))
        for one, low, high in ((inside.slope, 0.0, math.inf), (inside.bend, -math.inf, 0.0))
    )
    return Ranges(value, slope, bend)


def _reciprocal(v: Interval) -> Ranges:
    def of_positive(u: Interval) -> Ranges:
        return Ranges(_falling(u, torch.reciprocal), u.mapped(lambda s: -(s**-2.0)), _falling(u, lambda s: 2 * s**-3.0))

    one, other = _on_positive(v, of_positive), _on_positive(-v, of_positive)
    mirrored = Ranges(-other.value, other.slope, -other.bend)
    return Ranges(*(a.where(v.low > 0, b) for a, b in zip(one, mirrored, strict=True)))


def _sin(v: Interval) -> Ranges:
    value = wave(v, torch.sin, math.pi / 2)
    return Ranges(value, wave(v, torch.cos, 0.0), -value)


def _cos(v: Interval) -> Ranges:
    value = wave(v, torch.cos, 0.0)
    return Ranges(value, -wave(v, torch.sin, math.pi / 2), -value)


def _peaked(v: Interval, function: Callable[[Tensor], Tensor], peaks: tuple[float, ...]) -> Interval:
    """The range of a function that is monotone between the points ``peaks`` where its derivative vanishes."""
    ends = [function(v.low), function(v.high)]
    low, high = torch.minimum(*ends), torch.maximum(*ends)
    for peak in peaks:
        value = function(torch.tensor(peak, dtype=v.low.dtype))
        is_inside = (v.low <= peak) & (v.high >= peak)
        low = torch.where(is_inside, torch.minimum(low, value), low)
        high = torch.where(is_inside, torch.maximum(high, value), high)
    return sound(low, high)


def _tanh(v: Interval) -> Ranges:
    turn = math.atanh(1 / math.sqrt(3))
    return Ranges(
        v.mapped(torch.tanh),
        _peaked(v, lambda s: 1 - torch.tanh(s) ** 2, (0.0,)),
        _peaked(v, lambda s: -2 * torch.tanh(s) * (1 - torch.tanh(s) ** 2), (-turn, turn)),
    )


def _sigmoid(v: Interval) -> Ranges:
    turn = 2 * math.atanh(1 / math.sqrt(3))

    def slope(s: Tensor) -> Tensor:
        return torch.sigmoid(s) * torch.sigmoid(-s)

    return Ranges(
        v.mapped(torch.sigmoid),
        _peaked(v, slope, (0.0,)),
        _peaked(v, lambda s: slope(s) * (1 - 2 * torch.sigmoid(s)), (-turn, turn)),
    )


def _softplus(v: Interval) -> Ranges:
    of_slope = _sigmoid(v)
    return Ranges(v.mapped(lambda s: torch.logaddexp(s, torch.zeros_like(s))), of_slope.value, of_slope.slope)


def _atan(v: Interval) -> Ranges:
    turn = 1 / math.sqrt(3)
    return Ranges(
        v.mapped(torch.atan),
        _peaked(v, lambda s: 1 / (1 + s * s), (0.0,)),
        _peaked(v, lambda s: (-2 * s / (1 + s * s) ** 2).nan_to_num(0.0), (-turn, turn)),
    )


def _erf(v: Interval) -> Ranges:
    scale = 2 / math.sqrt(math.pi)
    turn = 1 / math.sqrt(2)
    return Ranges(
        v.mapped(torch.erf),
        _peaked(v, lambda s: scale * torch.exp(-s * s), (0.0,)),
        _peaked(v, lambda s: (-2 * s * scale * torch.exp(-s * s)).nan_to_num(0.0), (-turn, turn)),
    )


def _cosh(v: Interval) -> Ranges:
    value = even(v, torch.cosh)
    return Ranges(value, v.mapped(torch.sinh), value)


def _sinh(v: Interval) -> Ranges:
    return Ranges(v.mapped(torch.sinh), even(v, torch.cosh), v.mapped(torch.sinh))


def power(p: float) -> Rule:
    """A number to the power ``p``."""
    if p == 0.5:
        return _sqrt
    if p == -1.0:
        return _reciprocal
    if p == int(p) and p >= 0:
        return lambda v: Ranges(
            _integer_power(v, int(p)),
            _integer_power(v, int(p) - 1).scaled(float64(p)) if p >= 1 else between(0, 0, v.low),
            _integer_power(v, int(p) - 2).scaled(float64(p * (p - 1))) if p >= 2 else between(0, 0, v.low),
        )

    def one(u: Interval, q: float, factor: float) -> Interval:
        found = u.mapped(lambda s: s**q) if q >= 0 else _falling(u, lambda s: s**q)
        return found.scaled(float64(factor))

    def of_positive(u: Interval) -> Ranges:
        return Ranges(one(u, p, 1.0), one(u, p - 1, p), one(u, p - 2, p * (p - 1)))

    if p == int(p) and int(p) % 2 == 0:  # a negative even power: the same on both sides

        def mirrored(v: Interval) -> Ranges:
            right, left = _on_positive(v, of_positive), _on_positive(-v, of_positive)
            other = Ranges(left.value, -left.slope, left.bend)
            return Ranges(*(a.where(v.low > 0, b) for a, b in zip(right, other, strict=True)))

        return mirrored
    return lambda v: _on_positive(v, of_positive)


def _integer_power(v: Interval, p: int) -> Interval:
    if p == 0:
        return constant(torch.ones_like(v.low))
    return even(v, lambda s: s**p) if p % 2 == 0 else v.mapped(lambda s: s**p)


UNARY: dict[str, Rule] = {
    "idbpd::xlogx": _xlogx,
    "aten::exp": _exp,
    "aten::expm1": _expm1,
    "aten::log": _log,
    "aten::log1p": _log1p,
    "aten::sqrt": _sqrt,
    "aten::rsqrt": power(-0.5),
    "aten::reciprocal": _reciprocal,
    "aten::square": power(2.0),
    "aten::sin": _sin,
    "aten::cos": _cos,
    "aten::tanh": _tanh,
    "aten::sigmoid": _sigmoid,
    "aten::atan": _atan,
    "aten::erf": _erf,
    "aten::cosh": _cosh,
    "aten::sinh": _sinh,
    "aten::abs": absolute,
    "aten::relu": relu,
}


def unary_rule(name: str, args: tuple[Any, ...]) -> Rule | None:
    """The rule of an operation on one tensor, or None."""
    rest = args[1:]
    if name == "idbpd::huber":
        return huber(*rest)
    if name == "aten::pow" and isinstance(rest[0], (int, float)):
        return power(float(rest[0]))
    if name == "aten::softplus" and all(float(one) == wanted for one, wanted in zip(rest, (1, 20), strict=False)):
        return _softplus
    if name == "aten::leaky_relu" and 0.0 <= (rest[0] if rest else 0.01) <= 1.0:
        return leaky(float(rest[0]) if rest else 0.01)
    return UNARY.get(name)
