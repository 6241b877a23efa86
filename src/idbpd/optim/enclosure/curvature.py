"""Whether a function is convex or concave over a whole box, by the rules of composition.

A function that does not fall and is convex, of a convex one, is convex, and so on (disciplined convex programming). It
takes any number of variables, and kinks. It finds what is written as a sum of convex terms, and does not multiply out.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.enclosure.bent_rules import clamp_above, clamp_below
from idbpd.optim.enclosure.enclose import enclose_all
from idbpd.optim.enclosure.intervals import Interval
from idbpd.optim.enclosure.jets import Jet
from idbpd.optim.enclosure.operations import STRUCTURE, SUMS, refs_in
from idbpd.optim.enclosure.ranges import Rule
from idbpd.optim.enclosure.tape import Operation, Ref, Tape
from idbpd.optim.enclosure.unary_rules import power, unary_rule


class Shape(NamedTuple):
    """What is known of every entry of a tensor; both for an affine one."""

    is_convex: bool
    is_concave: bool

    def __neg__(self) -> "Shape":
        """With the other sign."""
        return Shape(self.is_concave, self.is_convex)

    def plus(self, other: "Shape") -> "Shape":
        """Of a sum, or of both tensors together."""
        return Shape(self.is_convex and other.is_convex, self.is_concave and other.is_concave)

    def times(self, factor: Any) -> "Shape":
        """Times a constant."""
        numbers = factor if isinstance(factor, Tensor) else None
        if numbers is None:
            return self if factor >= 0 else -self
        if bool((numbers >= 0).all()):
            return self
        return -self if bool((numbers <= 0).all()) else self.plus(-self)


AFFINE = Shape(is_convex=True, is_concave=True)
UNKNOWN = Shape(is_convex=False, is_concave=False)


def shape_of(tape: Tape, low: Tensor, high: Tensor) -> Shape:
    """The shape of the function over one box, (n,) each end, which may be infinite; raises `NoRuleError`."""
    if not isinstance(tape.output, Ref):
        return AFFINE
    jets = enclose_all(tape, low.unsqueeze(0), high.unsqueeze(0), 0)
    found = {0: AFFINE}
    for operation in tape.operations:
        shape = _shape(operation, found, jets)
        found.update(dict.fromkeys(operation.outputs, shape))
    return found[tape.output.number]


def _shape(op: Operation, known: dict[int, Shape], jets: dict[int, Jet]) -> Shape:  # noqa: PLR0911, PLR0912 - a table
    name, args = op.name, op.args

    def of(item: Any) -> Shape:
        shape = AFFINE
        for number in refs_in(item):
            shape = shape.plus(known[number])
        return shape

    def composed(rule: Rule, ref: Ref, inner: Shape) -> Shape:
        return _composed(rule, jets[ref.number].value, inner)

    if name in STRUCTURE or name in SUMS or name in ("aten::index", "aten::gather"):
        return of((args, op.kwargs))
    match name:
        case "aten::add":
            return of(args[0]).plus(of(args[1]).times(op.kwargs.get("alpha", 1)))
        case "aten::sub":
            return of(args[0]).plus(of(args[1]).times(-op.kwargs.get("alpha", 1)))
        case "aten::rsub":
            return of(args[1]).plus(-of(args[0]))
        case "aten::neg":
            return -of(args[0])
        case "aten::div" if not isinstance(args[1], Ref):
            return of(args[0]).times(args[1])
        case "aten::mul" | "aten::dot" | "aten::vdot" | "aten::mv" | "aten::mm" | "aten::bmm":
            one, other = args[:2]
            if not isinstance(other, Ref):
                return of(one).times(other)
            if not isinstance(one, Ref):
                return of(other).times(one)
            is_square = one == other and name in ("aten::mul", "aten::dot", "aten::vdot")
            return composed(power(2.0), one, of(one)) if is_square else UNKNOWN
        case "aten::addmm" | "aten::addmv":
            product = _shape(op._replace(name="aten::mm", args=args[1:3], kwargs={}), known, jets)
            return of(args[0]).plus(product) if not op.kwargs else UNKNOWN
        case "aten::maximum" | "aten::amax" | "aten::max" | "aten::logsumexp":
            return Shape(of(args).is_convex, is_concave=False)
        case "aten::minimum" | "aten::amin" | "aten::min":
            return Shape(is_convex=False, is_concave=of(args).is_concave)
        case "aten::linalg_vector_norm" | "aten::norm":
            return Shape(of(args[0]) == AFFINE, is_concave=False)
        case "aten::where" if not isinstance(args[0], Ref):
            return of(args[1:])
        case "aten::clamp" | "aten::clamp_min" | "aten::clamp_max":
            return _clamped(op, composed, of(args[0]))
    rule = unary_rule(name, args) if isinstance(args[0], Ref) else None
    return UNKNOWN if rule is None else composed(rule, args[0], of(args[0]))


def _composed(rule: Rule, over: Interval, inner: Shape) -> Shape:
    """Of a function of one number, after a tensor of the shape ``inner``."""
    _, slope, bend = rule(over)
    rises, falls = bool((slope.low >= 0).all()), bool((slope.high <= 0).all())
    follows = (inner.is_convex and rises) or (inner.is_concave and falls)
    opposes = (inner.is_concave and rises) or (inner.is_convex and falls)
    is_affine = inner == AFFINE
    return Shape(
        is_convex=bool((bend.low >= 0).all()) and (is_affine or follows),
        is_concave=bool((bend.high <= 0).all()) and (is_affine or opposes),
    )


def _clamped(op: Operation, composed: Any, inner: Shape) -> Shape:
    bounds = [*op.args[1:], None, None][:2]
    low, high = op.kwargs.get("min", bounds[0]), op.kwargs.get("max", bounds[1])
    if op.name == "aten::clamp_max":
        low, high = None, low
    if isinstance(low, Ref) or isinstance(high, Ref) or (low is not None and high is not None):
        return UNKNOWN
    bound = torch.as_tensor(low if high is None else high, dtype=torch.float64)
    shape: Shape = composed(clamp_below(bound) if high is None else clamp_above(bound), op.args[0], inner)
    return shape
