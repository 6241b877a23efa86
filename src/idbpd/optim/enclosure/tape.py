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

_MOST_OPERATIONS = 2_000  # beyond, reading them costs more than it is worth
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


class _Recorder(TorchDispatchMode):
    def __init__(self, argument: Tensor) -> None:
        super().__init__()
        self._numbers = {id(argument): 0}
        self._kept: list[Any] = [argument]  # a tensor that is gone may leave its id to another
        self.operations: list[Operation] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Torch would import its compiler, which takes two seconds, in order not to compile what is below.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        out = func(*args, **kwargs)
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
        name = func._schema.name
        if name in _IN_PLACE:
            func = _IN_PLACE[name]
        elif func._schema.is_mutable or len(self.operations) == _MOST_OPERATIONS:
            raise _UnreadableError
        results = out if isinstance(out, (tuple, list)) else (out,)
        if not all(isinstance(result, Tensor) for result in results):
            raise _UnreadableError  # a number was read
        self._kept.append(out)
        outputs = tuple(self._number(result) for result in results)
        shapes = tuple(result.shape for result in results)
        self.operations.append(Operation(name.removesuffix("_"), func, new_args, new_kwargs, outputs, shapes))
        return out

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
