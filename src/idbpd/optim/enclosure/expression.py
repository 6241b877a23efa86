"""A function of a few numbers as a list of operations on single numbers, with its derivatives as further operations.

For a function of three variables a tensor is a slow way to keep a number: one operation of torch costs as much as a
hundred on floats, one pass of autograd as much as a thousand. Nodes are numbers of this list; the first ones are the
variables. The derivative of a node is a node, by the rules of calculus, so one short loop evaluates everything.
"""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from idbpd.optim.enclosure.scalar_operations import KINKED, OPERATIONS, UNARY

MOST_NODES = 3_000  # beyond, tensors are as fast


class TooLargeError(Exception):
    """More nodes than are worth it."""


class Expression:
    """Nodes over some variables; equal operations are one node."""

    def __init__(self, variables: int) -> None:
        """The variables alone."""
        self.variables = variables
        self._steps: list[tuple[str, int, int]] = [("variable", -1, -1)] * variables
        self._constants: dict[int, float] = {}  # by node
        self._known: dict[tuple[str, Any, Any], int] = {}
        self._derivatives: dict[tuple[int, int], int] = {}

    def constant(self, value: float) -> int:
        """The node of a number."""
        return self._node("constant", value, 0.0 if value else math.copysign(1.0, value))

    def apply(self, name: str, a: int, b: int | None = None) -> int:
        """The node of an operation on one or two nodes; what is plain is simplified."""
        one = self._constants.get(a)
        other = None if b is None else self._constants.get(b)
        if one is not None and (b is None or other is not None):
            try:
                return self.constant(float(OPERATIONS[name][0](one, other)))
            except (ArithmeticError, ValueError):
                raise TooLargeError from None
        if b is not None:
            plain = _simplified(name, a, b, one, other)
            if plain is not None:
                return self.constant(0.0) if plain < 0 else plain
        return self._node(name, a, a if b is None else b)

    def _node(self, name: str, a: Any, b: Any) -> int:
        key = (name, a, b)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self._steps)
            if found >= MOST_NODES:
                raise TooLargeError
            if name == "constant":
                self._constants[found] = a
            self._steps.append((name, -1, -1) if name == "constant" else (name, a, b))
        return found

    def derivative(self, node: int, variable: int) -> int:
        """The node of a partial derivative; at a kink, that of one side."""
        if node < self.variables:
            return self.constant(1.0 if node == variable else 0.0)
        key = (node, variable)
        if key not in self._derivatives:
            # Nodes only refer to earlier ones: from the first to the last there is no deep recursion.
            for earlier in sorted(self.needed([node])):
                if earlier >= self.variables and (earlier, variable) not in self._derivatives:
                    self._derivatives[earlier, variable] = self._differentiated(earlier, variable)
        return self._derivatives[key]

    def _differentiated(self, node: int, variable: int) -> int:  # noqa: PLR0911 - a table
        name, a, b = self._steps[node]
        if name == "constant":
            return self.constant(0.0)
        do, da = self.apply, self.derivative(a, variable)
        if name in UNARY:
            return do("mul", self._slope(name, a, node), da)
        db = self.derivative(b, variable)
        match name:
            case "add" | "sub":
                return do(name, da, db)
            case "mul":
                return do("add", do("mul", da, b), do("mul", a, db))
            case "div":
                return do("div", do("sub", da, do("mul", node, db)), b)
            case "pow":  # of a constant exponent
                power = self._constants[b]
                slope = do("mul", b, do("pow", a, self.constant(power - 1.0)))
                return do("mul", slope, da)
            case "max" | "min":
                chosen = do("at_least", a, b) if name == "max" else do("at_least", b, a)
                return do("add", db, do("mul", chosen, do("sub", da, db)))
            case _:
                return self.constant(0.0)

    def _slope(self, name: str, a: int, node: int) -> int:  # noqa: PLR0911, PLR0912 - a table
        do, one = self.apply, self.constant(1.0)
        match name:
            case "neg":
                return self.constant(-1.0)
            case "exp":
                return node
            case "expm1":
                return do("exp", a)
            case "log":
                return do("div", one, a)
            case "log1p":
                return do("div", one, do("add", one, a))
            case "sqrt":
                return do("div", self.constant(0.5), node)
            case "sin":
                return do("cos", a)
            case "cos":
                return do("neg", do("sin", a))
            case "tanh":
                return do("sub", one, do("mul", node, node))
            case "sinh":
                return do("cosh", a)
            case "cosh":
                return do("sinh", a)
            case "atan":
                return do("div", one, do("add", one, do("mul", a, a)))
            case "erf":
                bell = do("exp", do("neg", do("mul", a, a)))
                return do("mul", self.constant(2.0 / math.sqrt(math.pi)), bell)
            case "sigmoid":
                return do("mul", node, do("sub", one, node))
            case "softplus":
                return do("sigmoid", a)
            case "abs":
                return do("sign", a)
            case _:
                return self.constant(0.0)

    def needed(self, nodes: Sequence[int]) -> set[int]:
        """The nodes that these consist of, themselves included."""
        found: set[int] = set()
        open_nodes = list(nodes)
        while open_nodes:
            node = open_nodes.pop()
            if node >= 0 and node not in found:
                found.add(node)
                open_nodes += self._steps[node][1:]
        return found

    def is_smooth(self, node: int) -> bool:
        """Whether no operation has a kink."""
        return all(self._steps[one][0] not in KINKED for one in self.needed([node]))

    def degree(self, node: int, variables: Sequence[int]) -> float:
        """The degree as a polynomial in some of the variables; infinite where it is none."""
        degrees: dict[int, float] = {-1: 0}
        for one in sorted(self.needed([node])):
            name, a, b = self._steps[one]
            match name:
                case "variable":
                    degrees[one] = 1 if one in variables else 0
                case "add" | "sub" | "max" | "min" | "neg":
                    degrees[one] = max(degrees[a], degrees[b])
                case "mul":
                    degrees[one] = degrees[a] + degrees[b]
                case "div" if degrees[b] == 0:
                    degrees[one] = degrees[a]
                case "pow" if self._constants[b] in (0, 1, 2, 3, 4):
                    degrees[one] = self._constants[b] * degrees[a]
                case _:
                    degrees[one] = 0 if degrees[a] == degrees[b] == 0 else math.inf
            if name in ("max", "min") and degrees[one] > 0:
                degrees[one] = math.inf
        return degrees[node]

    def split(self, nodes: Sequence[int], fixed: int) -> "Split":
        """The operations for some nodes: those of the first ``fixed`` variables alone, and the others."""
        moving: set[int] = set(range(fixed, self.variables))
        first, second = [], []
        for node in sorted(self.needed(nodes)):
            name, a, b = self._steps[node]
            if name in {"variable", "constant"}:
                continue
            one, many = OPERATIONS[name]
            if a in moving or b in moving:
                moving.add(node)
                second.append((node, one, many, a, b))
            else:
                first.append((node, one, a, b))
        return Split(self, first, second)

    def memory(self) -> list[Any]:
        """A place for every node, with the constants in theirs."""
        places: list[Any] = [None] * len(self._steps)
        for node, value in self._constants.items():
            places[node] = value
        return places


class Split:
    """Operations to be carried out: with the fixed variables, and then again and again with the others."""

    def __init__(self, expression: Expression, first: Sequence[Any], second: Sequence[Any]) -> None:
        """As `Expression.split` makes it."""
        self._expression, self._first, self._second = expression, first, second
        self._numbers = [(node, one, a, b) for node, one, _, a, b in second]

    def begin(self, fixed: Sequence[float]) -> list[Any]:
        """A memory with what depends on the fixed variables alone; raises `ArithmeticError` or `ValueError`."""
        v = self._expression.memory()
        v[: len(fixed)] = fixed
        for node, function, a, b in self._first:
            v[node] = function(v[a], v[b])
        return v

    def go_on(self, v: list[Any], point: Sequence[float]) -> None:
        """Fill the memory for other variables in numbers; raises `ArithmeticError` or `ValueError`."""
        n = self._expression.variables
        v[n - len(point) : n] = point
        for node, function, a, b in self._numbers:
            v[node] = function(v[a], v[b])

    def go_on_with(self, v: list[Any], columns: Sequence[Tensor]) -> None:
        """The same for many points at once, a tensor per variable."""
        n = self._expression.variables
        v[n - len(columns) : n] = columns
        for node, _, function, a, b in self._second:
            v[node] = function(v[a], v[b])


def _simplified(  # noqa: PLR0911 - a table
    name: str, a: int, b: int, one: float | None, other: float | None
) -> int | None:
    """The node that an operation amounts to; -1 for zero, None where it is not plain."""
    match name:
        case "add":
            return b if one == 0.0 else a if other == 0.0 else None
        case "sub":
            return a if other == 0.0 else None
        case "mul":
            if one == 0.0 or other == 0.0:
                return -1
            return b if one == 1.0 else a if other == 1.0 else None
        case "div":
            return -1 if one == 0.0 else a if other == 1.0 else None
        case "pow":
            return a if other == 1.0 else None
        case _:
            return None
