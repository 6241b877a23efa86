"""An accelerator that needs no hardware: real numbers, in tensors that say they are on another device.

Inside `Accelerator` every operation on a `Remote` tensor gives another one. Reading a value out of it, or moving it to
the host, is a crossing and is counted; whatever else a device would not do (an operation on tensors of both sides, a
shape that depends on values) is an error.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")  # a device that torch knows without hardware; the numbers are kept besides
_CROSSING = ("aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::is_nonzero", "aten::nonzero")
_MOVING = ("aten::_to_copy", "aten::copy_", "aten::to.device", "aten::to.dtype_layout")


class Remote(Tensor):
    """A tensor whose numbers are on the accelerator."""

    numbers: Tensor

    @staticmethod
    def __new__(cls: type["Remote"], numbers: Tensor) -> "Remote":
        made = Tensor._make_wrapper_subclass(
            cls, numbers.shape, numbers.stride(), numbers.storage_offset(), dtype=numbers.dtype, device=DEVICE
        )
        made.numbers = numbers
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise RuntimeError(f"{func.name()} on the accelerator, which is switched off")


class Accelerator(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs what is asked of remote tensors, and counts the crossings to the host."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.crossings = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
        is_remote = any(isinstance(tensor, Remote) for tensor in tensors)
        name = func.name().split(".")[0]
        target = kwargs.get("device")
        if is_remote and name not in _MOVING and any(type(t) is Tensor and t.dim() > 0 for t in tensors):
            raise RuntimeError(f"{func.name()} on tensors of the host and of the accelerator")
        if is_remote and (name in _CROSSING or (target is not None and target != DEVICE)):
            self.crossings += 1
            is_remote = False
        elif target == DEVICE:
            is_remote = True
        if target == DEVICE:
            kwargs["device"] = torch.device("cpu")
        args, kwargs = tree_map(lambda leaf: leaf.numbers if isinstance(leaf, Remote) else leaf, (args, kwargs))
        made = func(*args, **kwargs)
        return tree_map(lambda leaf: Remote(leaf) if type(leaf) is Tensor else leaf, made) if is_remote else made
