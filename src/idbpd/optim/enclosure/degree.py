"""Whether a function is a polynomial of degree at most two in its argument: exact, and without a look at a number."""

import math
from typing import Any

from idbpd.optim.enclosure.operations import BILINEAR, LINEAR, SUMS, refs_in
from idbpd.optim.enclosure.tape import Operation, Ref, Tape


def degrees(tape: Tape) -> dict[int, float]:
    """An upper bound on the degree of every tensor of the tape, by number; infinite where it is no polynomial."""
    found: dict[int, float] = {0: 1}
    for operation in tape.operations:
        degree = _degree(operation, found)
        found.update(dict.fromkeys(operation.outputs, degree))
    return found


def degree_of(tape: Tape) -> float:
    """The degree of the function."""
    return degrees(tape)[tape.output.number] if isinstance(tape.output, Ref) else 0


def _degree(operation: Operation, known: dict[int, float]) -> float:  # noqa: PLR0911 - a table
    name, args = operation.name, operation.args

    def of(item: Any) -> float:
        return max((known[number] for number in refs_in(item)), default=0)

    if name in LINEAR or name in SUMS:
        return of((args, operation.kwargs))
    if name in BILINEAR:
        return of(args[0]) + of(args[1])
    if name == "aten::div":
        return of(args[0]) if of(args[1]) == 0 else math.inf
    if name in ("aten::addmm", "aten::addmv", "aten::baddbmm", "aten::addcmul", "aten::addbmm"):
        return max(of(args[0]), of(args[1]) + of(args[2]))
    if name == "aten::pow" and isinstance(args[1], (int, float)) and args[1] in (0, 1, 2, 3, 4):
        return args[1] * of(args[0])
    if name == "aten::square":
        return 2 * of(args[0])
    if name == "aten::where" and of(args[0]) == 0:
        return of(args[1:])
    return math.inf
