"""The operations of a tape, carried out on jets."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from idbpd.optim.enclosure.intervals import Interval, constant
from idbpd.optim.enclosure.jets import (
    Frame,
    Jet,
    add,
    aligned,
    apply_unary,
    constant_jet,
    largest,
    multiply,
    negated,
    scale,
    unknown_beyond_value,
    variables,
)
from idbpd.optim.enclosure.operations import STRUCTURE, SUMS
from idbpd.optim.enclosure.tape import Operation, Ref, Tape
from idbpd.optim.enclosure.unary_rules import clamp_above, clamp_below, power, unary_rule

_MOST_NUMBERS = 20_000_000  # in one jet: beyond, a bound costs more than it is worth


class NoRuleError(Exception):
    """An operation of which nothing is known over a box."""


def enclose(tape: Tape, low: Tensor, high: Tensor, order: int) -> Jet:
    """The jet of the function over boxes, (B, n) each end; raises `NoRuleError`."""
    jets = enclose_all(tape, low, high, order)
    if isinstance(tape.output, Ref):
        found = jets[tape.output.number]
        return Jet(*(end.reshape(*end.shape[:2]) for end in found))
    return constant_jet(Frame(low.shape[1], order), tape.output.double().reshape(()), low.shape[0])


def enclose_all(tape: Tape, low: Tensor, high: Tensor, order: int) -> dict[int, Jet]:
    """The jets of all tensors of the tape, by number."""
    frame = Frame(low.shape[1], order)
    run = _Run(frame, low.shape[0])
    run.jets[0] = variables(frame, low, high, tape.shape)
    for operation in tape.operations:
        run.do(operation)
    return run.jets


class _Run:
    """Carries out operations, and keeps what they give."""

    def __init__(self, frame: Frame, count: int) -> None:
        self.frame, self.count = frame, count
        self.jets: dict[int, Jet] = {}
        self.booleans: dict[int, tuple[Tensor, Tensor]] = {}  # of a comparison: is surely true, may be true

    def do(self, operation: Operation) -> None:
        if self.frame.size * self.count * max(shape.numel() for shape in operation.shapes) > _MOST_NUMBERS:
            raise NoRuleError(operation.name)
        if operation.name in _COMPARISONS:
            self._compare(operation)
            return
        results = self._results(operation)
        for number, jet in zip(operation.outputs, results, strict=True):
            self.jets[number] = jet

    def _results(self, operation: Operation) -> list[Jet]:
        name, args = operation.name, operation.args
        if name in STRUCTURE or name in SUMS or (name in _INDEXED and not _refers(args[1:])):
            return self._structural(operation)
        rule = unary_rule(name, args) if isinstance(args[0], Ref) else None
        if rule is not None:
            return [apply_unary(self.frame, self.jets[args[0].number], rule)]
        special = _SPECIAL.get(name)
        if special is None:
            raise NoRuleError(name)
        jet = special(self, operation)
        shape = operation.shapes[0]
        if jet.low.shape[2:] != shape:
            jet = Jet(*(end.expand(*end.shape[:2], *shape) for end in aligned(jet, len(shape))))
        return [jet, *[jet] * (len(operation.outputs) - 1)] if name not in _FIRST_ONLY else [jet]

    def _structural(self, operation: Operation) -> list[Jet]:
        """An operation with coefficients that are not negative: on every coefficient of the jet alike."""
        refs: list[Ref] = []
        kwargs = {key: value for key, value in operation.kwargs.items() if key not in ("dtype", "memory_format")}
        if operation.name == "aten::_to_copy":
            if operation.kwargs.get("dtype") not in (None, torch.float64, torch.float32):
                raise NoRuleError(operation.name)
            return [self.jets[operation.args[0].number]]

        def gathered(item: Any) -> Any:
            if isinstance(item, Ref):
                refs.append(item)
                return item
            if isinstance(item, (list, tuple)):
                return type(item)(gathered(one) for one in item)
            # Beside tensors of the argument (in a stack, say) a constant has derivatives of zero.
            if isinstance(item, Tensor) and item.is_floating_point():
                number = -2 - len(self.jets)
                self.jets[number] = constant_jet(self.frame, item.double(), self.count)
                refs.append(Ref(number))
                return refs[-1]
            return item

        args = gathered(tuple(operation.args))
        batches = [
            torch.cat([jet.low.flatten(0, 1), jet.high.flatten(0, 1)]) for jet in (self.jets[r.number] for r in refs)
        ]

        def call(*tensors: Tensor) -> Any:
            values = {ref: tensor for ref, tensor in zip(refs, tensors, strict=True)}

            def back(item: Any) -> Any:
                if isinstance(item, Ref):
                    return values[item]
                return type(item)(back(one) for one in item) if isinstance(item, (list, tuple)) else item

            return operation.function(*back(args), **kwargs)

        out = torch.vmap(call)(*batches)
        results = out if isinstance(out, (tuple, list)) else (out,)
        shape = (2, self.count, self.frame.size)
        halves = [result.reshape(*shape, *result.shape[1:]) for result in results]
        return [Jet(half[0].nan_to_num(-torch.inf, torch.inf, -torch.inf), half[1].nan_to_num(torch.inf, torch.inf, -torch.inf)) for half in halves]

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
        return scale(self.jet(ref), _number(factor))

    def _compare(self, operation: Operation) -> None:
        one, other = (self.jet(arg).value for arg in operation.args[:2])
        rank = len(operation.shapes[0])
        one, other = _raised(one, rank), _raised(other, rank)
        match operation.name:
            case "aten::lt" | "aten::le":
                found = (one.high < other.low), (one.low <= other.high)
            case _:
                found = (one.low > other.high), (one.high >= other.low)
        self.booleans[operation.outputs[0]] = found


def _raised(value: Interval, rank: int) -> Interval:
    """Values that broadcast against those of another rank."""
    missing = rank - (value.low.dim() - 1)
    shape = (value.low.shape[0], *(1,) * max(missing, 0), *value.low.shape[1:])
    return Interval(value.low.reshape(shape), value.high.reshape(shape))


def _number(factor: Any) -> Tensor:
    return factor.double() if isinstance(factor, Tensor) else torch.tensor(float(factor), dtype=torch.float64)


def _refers(item: Any) -> bool:
    if isinstance(item, Ref):
        return True
    return isinstance(item, (list, tuple)) and any(_refers(one) for one in item)


def _add(run: _Run, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.jet(op.args[1]), _number(op.kwargs.get("alpha", 1))))


def _sub(run: _Run, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.jet(op.args[1]), -_number(op.kwargs.get("alpha", 1))))


def _rsub(run: _Run, op: Operation) -> Jet:
    alpha = op.args[2] if len(op.args) > 2 else op.kwargs.get("alpha", 1)
    return add(run.jet(op.args[1]), scale(run.jet(op.args[0]), -_number(alpha)))


def _div(run: _Run, op: Operation) -> Jet:
    if op.kwargs.get("rounding_mode") is not None:
        raise NoRuleError("aten::div with a rounding mode")
    if not isinstance(op.args[1], Ref):
        return scale(run.jet(op.args[0]), 1 / _number(op.args[1]))
    inverse = apply_unary(run.frame, run.jet(op.args[1]), power(-1.0))
    return multiply(run.frame, run.jet(op.args[0]), inverse)


def _inner(run: _Run, one: Any, other: Any, left: int, right: int) -> Jet:
    """A product of tensors of these ranks, summed over the last axis of the first and the first of the second."""

    def shaped(item: Any, keep: Callable[[Tensor], Tensor]) -> Any:
        if isinstance(item, Ref):
            return Jet(*(keep(end) for end in run.jet(item)))
        return keep(_number(item))

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


def _batched(run: _Run, one: Any, other: Any) -> Jet:
    def shaped(item: Any, axis: int) -> Any:
        return Jet(*(end.unsqueeze(axis) for end in run.jet(item))) if isinstance(item, Ref) else _number(item).unsqueeze(axis)

    a, b = shaped(one, -1), shaped(other, -3)
    if isinstance(a, Jet) and isinstance(b, Jet):
        product = multiply(run.frame, a, b)
    else:
        product = scale(a, b) if isinstance(a, Jet) else scale(b, a)
    return Jet(product.low.sum(-2), product.high.sum(-2))


def _mm(run: _Run, op: Operation) -> Jet:
    return _inner(run, *op.args[:2], 2, 2)


def _added_product(left: int, right: int) -> Callable[[_Run, Operation], Jet]:
    def rule(run: _Run, op: Operation) -> Jet:
        product = scale(_inner(run, *op.args[1:3], left, right), _number(op.kwargs.get("alpha", 1)))
        return add(scale(run.jet(op.args[0]), _number(op.kwargs.get("beta", 1))), product)

    return rule


def _addcmul(run: _Run, op: Operation) -> Jet:
    return add(run.jet(op.args[0]), scale(run.product(*op.args[1:3]), _number(op.kwargs.get("value", 1))))


def _clamp(run: _Run, op: Operation) -> Jet:
    jet = run.jet(op.args[0])
    bounds = [*op.args[1:], None, None][:2]
    low, high = op.kwargs.get("min", bounds[0]), op.kwargs.get("max", bounds[1])
    if op.name == "aten::clamp_max":
        low, high = None, low
    if _refers((low, high)):
        raise NoRuleError(op.name)
    if low is not None:
        jet = apply_unary(run.frame, jet, clamp_below(_number(low)))
    return jet if high is None else apply_unary(run.frame, jet, clamp_above(_number(high)))


def _pair_maximum(run: _Run, op: Operation) -> Jet:
    rank = len(op.shapes[0])
    pair = [run.jet(arg) for arg in op.args[:2]]
    shape = (run.count, run.frame.size, *op.shapes[0])
    lows, highs = (
        torch.stack([end.expand(shape) for end in ends], dim=2)
        for ends in zip(*(aligned(jet, rank) for jet in pair), strict=True)
    )
    return largest(run.frame, Jet(lows, highs), 0)


def _pair_minimum(run: _Run, op: Operation) -> Jet:
    flipped = [_Flipped(run), op]
    return negated(_pair_maximum(*flipped))  # type: ignore[arg-type]


class _Flipped(_Run):
    """Arguments with the other sign."""

    def __init__(self, run: _Run) -> None:
        super().__init__(run.frame, run.count)
        self.jets, self.booleans = run.jets, run.booleans

    def jet(self, item: Any) -> Jet:
        return negated(super().jet(item))


def _reduced(run: _Run, op: Operation, jet: Jet) -> Jet:
    """The maximum over all entries, or over the axes that the operation names."""
    axes = op.args[1] if len(op.args) > 1 else op.kwargs.get("dim", [])
    keep = op.args[2] if len(op.args) > 2 else op.kwargs.get("keepdim", False)
    rank = jet.low.dim() - 2
    axes = [axes] if isinstance(axes, int) else list(axes)
    chosen = sorted({axis % rank for axis in axes} if axes else range(rank), reverse=True)
    for axis in chosen:
        jet = largest(run.frame, jet, axis)
        if keep:
            jet = Jet(*(end.unsqueeze(axis + 2) for end in jet))
    return jet


def _maximum(run: _Run, op: Operation) -> Jet:
    return _reduced(run, op, run.jet(op.args[0]))


def _minimum(run: _Run, op: Operation) -> Jet:
    return negated(_reduced(run, op, negated(run.jet(op.args[0]))))


def _logsumexp(run: _Run, op: Operation) -> Jet:
    """Shifted by the largest middle, which is a constant."""
    jet = run.jet(op.args[0])
    rank = jet.low.dim() - 2
    axes = op.args[1] if len(op.args) > 1 else op.kwargs["dim"]
    keep = op.args[2] if len(op.args) > 2 else op.kwargs.get("keepdim", False)
    dims = tuple(axis % rank + 2 for axis in ([axes] if isinstance(axes, int) else axes))
    shift = jet.high[:, :1].amax(dim=dims, keepdim=True).clamp(-1e300, 1e300)
    moved = Jet(*(torch.cat([end[:, :1] - shift, end[:, 1:]], dim=1) for end in jet))
    from idbpd.optim.enclosure.unary_rules import UNARY

    powers = apply_unary(run.frame, moved, UNARY["aten::exp"])
    total = Jet(powers.low.sum(dims, keepdim=keep), powers.high.sum(dims, keepdim=keep))
    found = apply_unary(run.frame, total, UNARY["aten::log"])
    back = shift if keep else shift.amax(dims)
    return Jet(*(torch.cat([end[:, :1] + back, end[:, 1:]], dim=1) for end in found))


def _norm(run: _Run, op: Operation) -> Jet:
    jet = run.jet(op.args[0])
    rank = jet.low.dim() - 2
    order = op.args[1] if len(op.args) > 1 else op.kwargs.get("ord", op.kwargs.get("p", 2))
    axes = op.args[2] if len(op.args) > 2 else op.kwargs.get("dim")
    keep = op.args[3] if len(op.args) > 3 else op.kwargs.get("keepdim", False)
    if order is not None and float(order) not in (1.0, 2.0):
        raise NoRuleError(op.name)
    chosen = range(rank) if axes is None or axes == [] else ([axes] if isinstance(axes, int) else axes)
    dims = tuple(axis % rank + 2 for axis in chosen)
    from idbpd.optim.enclosure.unary_rules import UNARY

    is_euclidean = order is None or float(order) == 2.0
    terms = apply_unary(run.frame, jet, power(2.0) if is_euclidean else UNARY["aten::abs"])
    total = Jet(terms.low.sum(dims, keepdim=keep), terms.high.sum(dims, keepdim=keep)) if dims else terms
    return apply_unary(run.frame, total, UNARY["aten::sqrt"]) if is_euclidean else total


def _where(run: _Run, op: Operation) -> Jet:
    """One of two, or where the condition is open, anything between; then nothing is known of derivatives."""
    condition, one, other = op.args[:3]
    shape = op.shapes[0]
    yes, no = (aligned(run.jet(arg), len(shape)) for arg in (one, other))
    if isinstance(condition, Ref):
        if condition.number not in run.booleans:
            raise NoRuleError(op.name)
        surely, maybe = run.booleans[condition.number]
        surely, maybe = (
            part.reshape(part.shape[0], 1, *(1,) * (len(shape) - part.dim() + 1), *part.shape[1:]) for part in (surely, maybe)
        )
    else:
        surely = maybe = condition
    full = (run.count, run.frame.size, *shape)
    yes, no = (Jet(*(end.expand(full) for end in jet)) for jet in (yes, no))
    open_value = yes.value.hull(no.value)
    is_open = unknown_beyond_value(run.frame, open_value)
    low = torch.where(surely, yes.low, torch.where(maybe, is_open.low, no.low))
    high = torch.where(surely, yes.high, torch.where(maybe, is_open.high, no.high))
    return Jet(low, high)


_COMPARISONS = frozenset({"aten::lt", "aten::le", "aten::gt", "aten::ge"})
_INDEXED = frozenset({"aten::index", "aten::gather"})
_FIRST_ONLY: frozenset[str] = frozenset()
_SPECIAL: dict[str, Callable[[_Run, Operation], Jet]] = {
    "aten::add": _add,
    "aten::sub": _sub,
    "aten::rsub": _rsub,
    "aten::neg": lambda run, op: negated(run.jet(op.args[0])),
    "aten::mul": lambda run, op: run.product(*op.args[:2]),
    "aten::div": _div,
    "aten::dot": lambda run, op: _inner(run, *op.args[:2], 1, 1),
    "aten::vdot": lambda run, op: _inner(run, *op.args[:2], 1, 1),
    "aten::mv": lambda run, op: _inner(run, *op.args[:2], 2, 1),
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
