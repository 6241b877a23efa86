"""The torch operations by which a function computes its value from one argument, in order.

The function runs once under a dispatch mode that sees every operation. What does not depend on the argument is a
constant of the tape. A function that reads a number out of its argument (to branch on it, say), or changes a tensor in
place, has no tape: its operations elsewhere may be others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from idbpd.optim.enclosure.rewritten import CONDITIONAL, REWRITTEN, reduced

_MOST_OPERATIONS = 2_000  # beyond, reading them costs more than it is worth
# Their values follow from the shape of the argument alone.
_OF_SHAPE = frozenset(f"aten::{name}" for name in ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones"))
_IN_PLACE = {"aten::squeeze_": torch.ops.aten.squeeze, "aten::unsqueeze_": torch.ops.aten.unsqueeze}


class Ref(NamedTuple):
    """The tensor with this number; 0 is the argument of the function."""

    number: int


class Operation(NamedTuple):
    """One operation. Tensors that depend on the argument are replaced by their `Ref`."""

    name: str  # as in "aten::add"
    function: Any  # of torch, to be called with tensors in place of the refs
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[int, ...]  # their numbers; -1 for an output that is no tensor
    shapes: tuple[torch.Size, ...]  # of the outputs


class Tape(NamedTuple):
    """All operations, and where the value of the function is: in the tensor ``output``, or in a constant."""

    operations: tuple[Operation, ...]
    output: Ref | Tensor
    shape: torch.Size  # of the argument

    def on_host(self) -> "Tape":
        """With its constants in float64 in host memory."""

        def moved(item: Any) -> Any:
            if not isinstance(item, Tensor):
                return item
            return item.detach().to("cpu", torch.float64) if item.is_floating_point() else item.detach().to("cpu")

        def all_moved(items: Any) -> Any:
            return tree_map(moved, items, is_leaf=lambda leaf: isinstance(leaf, Ref))

        operations = tuple(
            one._replace(args=all_moved(one.args), kwargs=all_moved(one.kwargs)) for one in self.operations
        )
        return Tape(operations, moved(self.output) if isinstance(self.output, Tensor) else self.output, self.shape)


class _UnreadableError(Exception):
    """The function does what no tape can show."""


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, argument: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._numbers = {id(argument): 0}
        self._kept: list[Any] = [argument]  # a tensor that is gone may leave its id to another
        self.operations: list[Operation] = []
        self._logs: dict[int, Tensor] = {}  # by the id of a logarithm, what it is of
        self._scaled: dict[int, tuple[Tensor, Any]] = {}  # by its id, a tensor that is another one times a constant

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Torch would import its compiler, which takes two seconds, in order not to compile what is below.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        if any(isinstance(arg, Tensor) and id(arg) in self._numbers for arg in args):
            simpler = self._rewritten(name, args, kwargs)
            if simpler is not None:
                return simpler
            with self:  # what torch itself writes in terms of other operations
                simpler = func.decompose(*args, **kwargs)
            if simpler is not NotImplemented:
                return simpler
        out = func(*args, **kwargs)
        if name in _OF_SHAPE:
            return out
        found = False

        def referred(item: Any) -> Any:
            nonlocal found
            if isinstance(item, Tensor) and id(item) in self._numbers:
                found = True
                return Ref(self._numbers[id(item)])
            return item

        new_args, new_kwargs = tree_map(referred, (tuple(args), kwargs))
        if not found:
            return out
        # Torch itself drops axes in place, of results that nobody else has seen.
        if name in _IN_PLACE:
            func = _IN_PLACE[name]
        elif func._schema.is_mutable or len(self.operations) == _MOST_OPERATIONS:
            raise _UnreadableError
        results = out if isinstance(out, (tuple, list)) else (out,)
        if not all(isinstance(result, Tensor) for result in results):
            raise _UnreadableError  # a number was read
        self._kept.append(out)
        self._notice(name, args, results[0])
        outputs = tuple(self._number(result) for result in results)
        shapes = tuple(result.shape for result in results)
        self.operations.append(Operation(name.removesuffix("_"), func, new_args, new_kwargs, outputs, shapes))
        return out

    def _rewritten(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result by simpler operations, which are recorded in its place; None where there are none."""
        if name in ("aten::huber_loss", "aten::smooth_l1_loss"):
            return self._huber(name, *args, **kwargs)
        if name in ("aten::mul", "aten::dot"):
            return self._entropy(name, *args)
        function = REWRITTEN.get(name)
        if name in CONDITIONAL:
            is_other, function = CONDITIONAL[name]
            function = function if is_other(*args, **kwargs) else None
        if function is None:
            return None
        with self:
            return function(*args, **kwargs)

    def _huber(self, name: str, one: Tensor, other: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
        """A loss that is a function of one number, with a rule of its own."""
        with self:
            difference = one - other
        is_huber = name == "aten::huber_loss" or delta == 0
        losses = torch.nn.functional.huber_loss(difference, torch.zeros_like(difference), "none", delta=delta)
        losses = losses if is_huber else losses / delta
        args = (self.ref(difference), delta, 1.0 if is_huber else 1.0 / delta)
        self.operations.append(Operation("idbpd::huber", None, args, {}, (self._number(losses),), (losses.shape,)))
        with self:
            return reduced(losses, reduction)

    def _entropy(self, name: str, one: Any, other: Any) -> Tensor | None:
        """The product w log(c w) with a constant c > 0. It has a rule, as its factors bend against each other."""
        for v, log in ((one, other), (other, one)):
            of = self._logs.get(id(log))
            source, factor = (of, 1.0) if of is v else self._scaled.get(id(of), (None, 1.0))
            if source is not v or v is None or not bool((torch.as_tensor(factor) > 0).all()):
                continue
            plain = torch.xlogy(v, v)
            self.operations.append(
                Operation("idbpd::xlogx", None, (self.ref(v),), {}, (self._number(plain),), (plain.shape,))
            )
            with self:
                total = plain + v * torch.as_tensor(factor, dtype=v.dtype, device=v.device).log()
                return total.sum() if name == "aten::dot" else total
        return None

    def _notice(self, name: str, args: Sequence[Any], out: Tensor) -> None:
        """Remember what `_entropy` asks for."""
        if name == "aten::log":
            self._logs[id(out)] = args[0]
        elif name in ("aten::mul", "aten::div"):
            ours = [isinstance(arg, Tensor) and id(arg) in self._numbers for arg in args[:2]]
            if ours == [True, False]:
                self._scaled[id(out)] = (args[0], args[1] if name == "aten::mul" else 1 / args[1])
            elif ours == [False, True] and name == "aten::mul":
                self._scaled[id(out)] = (args[1], args[0])

    def ref(self, tensor: Tensor) -> Ref | Tensor:
        number = self._numbers.get(id(tensor))
        return tensor if number is None else Ref(number)

    def _number(self, tensor: Tensor) -> int:
        # An operation may return its own argument.
        self._numbers[id(tensor)] = number = len(self._kept) + 10_000 * len(self.operations)
        self._kept.append(tensor)
        return number


def record(function: Callable[[Tensor], Tensor], argument: Tensor) -> Tape | None:
    """The tape of a function that returns a scalar, or None where it has none."""
    argument = argument.detach().clone()
    recorder = _Recorder(argument)
    try:
        with torch.no_grad(), recorder:
            value = function(argument)
    except _UnreadableError:
        return None
    except RuntimeError:  # what works on plain tensors may not work under a mode
        return None
    return Tape(tuple(recorder.operations), recorder.ref(value), argument.shape)
