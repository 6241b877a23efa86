"""A tape of small tensors as an `Expression`, entry by entry."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from idbpd.optim.enclosure.expression import Expression, TooLargeError
from idbpd.optim.enclosure.operations import STRUCTURE
from idbpd.optim.enclosure.scalar_operations import UNARY
from idbpd.optim.enclosure.tape import Operation, Ref, Tape

_MOST_ENTRIES = 1_000  # of one tensor: larger ones lead beyond `MOST_NODES`


class _NoExpressionError(Exception):
    """An operation that has none."""


def expression_of(tape: Tape) -> tuple[Expression, int] | None:
    """The expression of a function in the entries of its argument, and the node of its value; None without one."""
    if not isinstance(tape.output, Ref):
        return None
    count = math.prod(tape.shape)
    expression = Expression(count)
    known = {0: torch.arange(count).reshape(tape.shape)}
    try:
        for operation in tape.operations:
            results = _results(expression, operation, known)
            known.update(zip(operation.outputs, results, strict=True))
    except (_NoExpressionError, TooLargeError):
        return None
    return expression, int(known[tape.output.number])


def _results(to: Expression, op: Operation, known: dict[int, Tensor]) -> list[Tensor]:
    """The nodes of every entry of the results."""
    if any(shape.numel() > _MOST_ENTRIES for shape in op.shapes):
        raise TooLargeError

    def nodes(item: Any) -> Tensor:
        if isinstance(item, Ref):
            return known[item.number]
        if isinstance(item, Tensor) and (not item.is_floating_point() or item.numel() > _MOST_ENTRIES):
            raise _NoExpressionError
        numbers = torch.as_tensor(item, dtype=torch.float64)
        return torch.tensor([to.constant(one) for one in numbers.flatten().tolist()]).reshape(numbers.shape)

    if op.name in STRUCTURE:
        return _moved(op, nodes)
    return [_computed(to, op, nodes)]


def _moved(op: Operation, nodes: Any) -> list[Tensor]:
    """Entries in other places: torch itself moves the numbers of their nodes."""
    if op.name == "aten::_to_copy":
        if op.kwargs.get("dtype") not in (None, torch.float64):
            raise _NoExpressionError
        return [nodes(op.args[0])]
    if op.name in ("aten::tril", "aten::triu", "aten::diag_embed", "aten::diag"):
        raise _NoExpressionError  # zeros come in

    def placed(item: Any) -> Any:
        return nodes(item) if isinstance(item, (Ref, Tensor)) else item

    args = tree_map(placed, op.args, is_leaf=lambda leaf: isinstance(leaf, Ref))
    out = op.function(*args, **{key: value for key, value in op.kwargs.items() if key != "memory_format"})
    return list(out) if isinstance(out, (tuple, list)) else [out]


def _computed(to: Expression, op: Operation, nodes: Any) -> Tensor:  # noqa: PLR0911, PLR0912 - a table
    name, args, kwargs = op.name.removeprefix("aten::"), op.args, op.kwargs

    def entrywise(operation: str, *items: Tensor) -> Tensor:
        same = torch.broadcast_tensors(*items)  # type: ignore[no-untyped-call]
        found = [
            to.apply(operation, *entries) for entries in zip(*(one.flatten().tolist() for one in same), strict=True)
        ]
        return torch.tensor(found, dtype=torch.int64).reshape(same[0].shape)

    def total(entries: Sequence[int]) -> int:
        return reduce(lambda a, b: to.apply("add", a, b), entries)

    def folded(rows: Tensor, operation: str) -> Tensor:
        found = [reduce(lambda a, b: to.apply(operation, a, b), row) for row in rows.tolist()]
        return torch.tensor(found, dtype=torch.int64)

    if name in UNARY:
        if name == "softplus" and len(args) > 1:
            raise _NoExpressionError
        return entrywise(name, nodes(args[0]))
    match name:
        case "add" | "sub":
            other = nodes(args[1])
            factor = kwargs.get("alpha", 1)
            return entrywise(
                name, nodes(args[0]), other if factor == 1 else entrywise("mul", nodes(float(factor)), other)
            )
        case "rsub" if kwargs.get("alpha", 1) == 1:
            return entrywise("sub", nodes(args[1]), nodes(args[0]))
        case "mul":
            return entrywise("mul", nodes(args[0]), nodes(args[1]))
        case "div" if not kwargs:
            return entrywise("div", nodes(args[0]), nodes(args[1]))
        case "reciprocal":
            return entrywise("div", nodes(1.0), nodes(args[0]))
        case "rsqrt":
            return entrywise("pow", nodes(args[0]), nodes(-0.5))
        case "square":
            return entrywise("mul", nodes(args[0]), nodes(args[0]))
        case "relu":
            return entrywise("mul", nodes(args[0]), entrywise("step", nodes(args[0])))
        case "pow" if isinstance(args[1], (int, float)) and isinstance(args[0], Ref):
            if args[1] == 2:
                return entrywise("mul", nodes(args[0]), nodes(args[0]))
            return entrywise("pow", nodes(args[0]), nodes(float(args[1])))
        case "maximum" | "minimum":
            return entrywise(name[:3], nodes(args[0]), nodes(args[1]))
        case "dot" | "vdot":
            return torch.tensor(total(entrywise("mul", nodes(args[0]), nodes(args[1])).tolist()))
        case "mv" | "mm":
            one, other = nodes(args[0]), nodes(args[1])
            columns = other.unsqueeze(1) if name == "mv" else other
            products = entrywise("mul", one.unsqueeze(1), columns.T.unsqueeze(0))
            return folded(products.reshape(-1, products.shape[-1]), "add").reshape(op.shapes[0])
        case "sum" | "mean" | "amax" | "amin":
            return _reduction(op, name, nodes(args[0]), folded, entrywise, nodes)
        case _:
            raise _NoExpressionError


def _reduction(op: Operation, name: str, whole: Tensor, folded: Any, entrywise: Any, nodes: Any) -> Tensor:
    axes = op.args[1] if len(op.args) > 1 else None
    if op.kwargs.get("dtype") is not None or whole.numel() == 0:
        raise _NoExpressionError
    axes = list(range(whole.dim())) if axes in (None, []) else [axis % whole.dim() for axis in axes]
    kept = [axis for axis in range(whole.dim()) if axis not in axes]
    rows = whole.permute(*kept, *axes).reshape(math.prod(whole.shape[axis] for axis in kept), -1)
    found: Tensor = folded(rows, {"amax": "max", "amin": "min"}.get(name, "add")).reshape(op.shapes[0])
    if name == "mean":
        found = entrywise("mul", nodes(1.0 / rows.shape[1]), found)
    return found
