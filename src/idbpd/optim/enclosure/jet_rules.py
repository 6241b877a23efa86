"""How operations on several tensors, or with options, act on jets."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from idbpd.optim.enclosure.bent_rules import clamp_above, clamp_below
from idbpd.optim.enclosure.jets import (
    Jet,
    add,
    aligned,
    apply_unary,
    largest,
    multiply,
    negated,
    scale,
    unknown_beyond_value,
)
from idbpd.optim.enclosure.known_jets import KnownJets, NoRuleError, number, refers
from idbpd.optim.enclosure.tape import Operation, Ref
from idbpd.optim.enclosure.unary_rules import UNARY, power


def _add(run: KnownJets, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.jet(op.args[1]), number(op.kwargs.get("alpha", 1))))


def _sub(run: KnownJets, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.jet(op.args[1]), -number(op.kwargs.get("alpha", 1))))


def _rsub(run: KnownJets, op: Operation) -> Jet:
    alpha = op.args[2] if len(op.args) > 2 else op.kwargs.get("alpha", 1)
    return add(run.jet(op.args[1]), scale(run.jet(op.args[0]), -number(alpha)))


def _div(run: KnownJets, op: Operation) -> Jet:
    if op.kwargs.get("rounding_mode") is not None:
        raise NoRuleError("aten::div with a rounding mode")
    if not isinstance(op.args[1], Ref):
        return scale(run.jet(op.args[0]), 1 / number(op.args[1]))
    inverse = apply_unary(run.frame, run.jet(op.args[1]), power(-1.0))
    return multiply(run.frame, run.jet(op.args[0]), inverse)


def _inner(run: KnownJets, factors: Sequence[Any], left: int, right: int) -> Jet:
    """A product of tensors of these ranks, summed over the last axis of the first and the first of the second."""
    one, other = factors

    def shaped(item: Any, keep: Callable[[Tensor], Tensor]) -> Any:
        if isinstance(item, Ref):
            return Jet(*(keep(end) for end in run.jet(item)))
        return keep(number(item))

    a = shaped(one, lambda t: t.unsqueeze(-1) if right == 2 else t)
    b = shaped(other, lambda t: t.unsqueeze(-3) if left == 2 and right == 2 else t)
    if isinstance(a, Jet) and isinstance(b, Jet):
        if one == other and left == right == 1:
            product = apply_unary(run.frame, a, power(2.0))
        else:
            product = multiply(run.frame, a, b)
    else:
        product = scale(a, b) if isinstance(a, Jet) else scale(b, a)
    axis = -2 if right == 2 else -1
    return Jet(product.low.sum(axis), product.high.sum(axis))


def _batched(run: KnownJets, one: Any, other: Any) -> Jet:
    def shaped(item: Any, axis: int) -> Any:
        if isinstance(item, Ref):
            return Jet(*(end.unsqueeze(axis) for end in run.jet(item)))
        return number(item).unsqueeze(axis)

    a, b = shaped(one, -1), shaped(other, -3)
    if isinstance(a, Jet) and isinstance(b, Jet):
        product = multiply(run.frame, a, b)
    else:
        product = scale(a, b) if isinstance(a, Jet) else scale(b, a)
    return Jet(product.low.sum(-2), product.high.sum(-2))


def _mm(run: KnownJets, op: Operation) -> Jet:
    return _inner(run, op.args[:2], 2, 2)


def _added_product(left: int, right: int) -> Callable[[KnownJets, Operation], Jet]:
    def rule(run: KnownJets, op: Operation) -> Jet:
        product = scale(_inner(run, op.args[1:3], left, right), number(op.kwargs.get("alpha", 1)))
        return add(scale(run.jet(op.args[0]), number(op.kwargs.get("beta", 1))), product)

    return rule


def _addcmul(run: KnownJets, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.product(*op.args[1:3]), number(op.kwargs.get("value", 1))))


def _clamp(run: KnownJets, op: Operation) -> Jet:
    jet = run.jet(op.args[0])
    bounds = [*op.args[1:], None, None][:2]
    low, high = op.kwargs.get("min", bounds[0]), op.kwargs.get("max", bounds[1])
    if op.name == "aten::clamp_max":
        low, high = None, low
    if refers((low, high)):
        raise NoRuleError(op.name)
    if low is not None:
        jet = apply_unary(run.frame, jet, clamp_below(number(low)))
    return jet if high is None else apply_unary(run.frame, jet, clamp_above(number(high)))


def _pair_maximum(run: KnownJets, op: Operation) -> Jet:
    rank = len(op.shapes[0])
    pair = [run.jet(arg) for arg in op.args[:2]]
    shape = (run.count, run.frame.size, *op.shapes[0])
    lows, highs = (
        torch.stack([end.expand(shape) for end in ends], dim=2)
        for ends in zip(*(aligned(jet, rank) for jet in pair), strict=True)
    )
    return largest(run.frame, Jet(lows, highs), 0)


def _pair_minimum(run: KnownJets, op: Operation) -> Jet:
    return negated(_pair_maximum(_Flipped(run), op))


class _Flipped(KnownJets):
    """Arguments with the other sign."""

    def __init__(self, run: KnownJets) -> None:
        super().__init__(run.frame, run.count)
        self.jets, self.booleans = run.jets, run.booleans

    def jet(self, item: Any) -> Jet:
        return negated(super().jet(item))


def _reduced(run: KnownJets, op: Operation, jet: Jet) -> Jet:
    """The maximum over all entries, or over the axes that the operation names."""
    axes = op.args[1] if len(op.args) > 1 else op.kwargs.get("dim", [])
    keep = op.args[2] if len(op.args) > 2 else op.kwargs.get("keepdim", False)
    rank = jet.low.dim() - 2
    if isinstance(axes, (Ref, Tensor)):
        raise NoRuleError(op.name)
    axes = [axes] if isinstance(axes, int) else list(axes)
    chosen = sorted({axis % rank for axis in axes} if axes else range(rank), reverse=True)
    for axis in chosen:
        jet = largest(run.frame, jet, axis)
        if keep:
            jet = Jet(*(end.unsqueeze(axis + 2) for end in jet))
    return jet


def _maximum(run: KnownJets, op: Operation) -> Jet:
    return _reduced(run, op, run.jet(op.args[0]))


def _minimum(run: KnownJets, op: Operation) -> Jet:
    return negated(_reduced(run, op, negated(run.jet(op.args[0]))))


def _logsumexp(run: KnownJets, op: Operation) -> Jet:
    """Shifted by the largest middle, which is a constant."""
    jet = run.jet(op.args[0])
    rank = jet.low.dim() - 2
    axes = op.args[1] if len(op.args) > 1 else op.kwargs["dim"]
    keep = op.args[2] if len(op.args) > 2 else op.kwargs.get("keepdim", False)
    dims = tuple(axis % rank + 2 for axis in ([axes] if isinstance(axes, int) else axes))
    shift = jet.high[:, :1].amax(dim=dims, keepdim=True).clamp(-1e300, 1e300)
    moved = Jet(*(torch.cat([end[:, :1] - shift, end[:, 1:]], dim=1) for end in jet))
    powers = apply_unary(run.frame, moved, UNARY["aten::exp"])
    total = Jet(powers.low.sum(dims, keepdim=keep), powers.high.sum(dims, keepdim=keep))
    found = apply_unary(run.frame, total, UNARY["aten::log"])
    back = shift if keep else shift.amax(dims)
    return Jet(*(torch.cat([end[:, :1] + back, end[:, 1:]], dim=1) for end in found))


def _norm(run: KnownJets, op: Operation) -> Jet:
    jet = run.jet(op.args[0])
    rank = jet.low.dim() - 2
    order = op.args[1] if len(op.args) > 1 else op.kwargs.get("ord", op.kwargs.get("p", 2))
    axes = op.args[2] if len(op.args) > 2 else op.kwargs.get("dim")
    keep = op.args[3] if len(op.args) > 3 else op.kwargs.get("keepdim", False)
    if order is not None and float(order) not in (1.0, 2.0):
        raise NoRuleError(op.name)
    chosen = range(rank) if axes is None or axes == [] else ([axes] if isinstance(axes, int) else axes)
    dims = tuple(axis % rank + 2 for axis in chosen)
    is_euclidean = order is None or float(order) == 2.0
    terms = apply_unary(run.frame, jet, power(2.0) if is_euclidean else UNARY["aten::abs"])
    total = Jet(terms.low.sum(dims, keepdim=keep), terms.high.sum(dims, keepdim=keep)) if dims else terms
    return apply_unary(run.frame, total, UNARY["aten::sqrt"]) if is_euclidean else total


def _where(run: KnownJets, op: Operation) -> Jet:
    """One of two, or where the condition is open, anything between; then nothing is known of derivatives."""
    condition, one, other = op.args[:3]
    shape = op.shapes[0]
    yes, no = (aligned(run.jet(arg), len(shape)) for arg in (one, other))
    if isinstance(condition, Ref):
        if condition.number not in run.booleans:
            raise NoRuleError(op.name)
        surely, maybe = run.booleans[condition.number]
        missing = (1,) * (len(shape) - surely.dim() + 1)
        surely, maybe = (part.reshape(part.shape[0], 1, *missing, *part.shape[1:]) for part in (surely, maybe))
    else:
        surely = maybe = condition
    full = (run.count, run.frame.size, *shape)
    yes, no = (Jet(*(end.expand(full) for end in jet)) for jet in (yes, no))
    open_value = yes.value.hull(no.value)
    is_open = unknown_beyond_value(run.frame, open_value)
    low = torch.where(surely, yes.low, torch.where(maybe, is_open.low, no.low))
    high = torch.where(surely, yes.high, torch.where(maybe, is_open.high, no.high))
    return Jet(low, high)


JET_RULES: dict[str, Callable[[KnownJets, Operation], Jet]] = {
    "aten::add": _add,
    "aten::sub": _sub,
    "aten::rsub": _rsub,
    "aten::neg": lambda run, op: negated(run.jet(op.args[0])),
    "aten::mul": lambda run, op: run.product(*op.args[:2]),
    "aten::div": _div,
    "aten::dot": lambda run, op: _inner(run, op.args[:2], 1, 1),
    "aten::vdot": lambda run, op: _inner(run, op.args[:2], 1, 1),
    "aten::mv": lambda run, op: _inner(run, op.args[:2], 2, 1),
    "aten::mm": _mm,
    "aten::bmm": lambda run, op: _batched(run, *op.args[:2]),
    "aten::addmm": _added_product(2, 2),
    "aten::addmv": _added_product(2, 1),
    "aten::addcmul": _addcmul,
    "aten::clamp": _clamp,
    "aten::clamp_min": _clamp,
    "aten::clamp_max": _clamp,
    "aten::maximum": _pair_maximum,
    "aten::minimum": _pair_minimum,
    "aten::amax": _maximum,
    "aten::amin": _minimum,
    "aten::max": _maximum,
    "aten::min": _minimum,
    "aten::logsumexp": _logsumexp,
    "aten::linalg_vector_norm": _norm,
    "aten::norm": _norm,
    "aten::where": _where,
}
