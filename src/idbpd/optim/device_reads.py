"""Numbers on the host.

`read` is the one way by which the numbers of a run come from the device to the host, as many as are wanted in one
transfer: each call waits until the device has computed them. The others look into small tensors that are on the host
already.
"""

import torch
from torch import Tensor


def read(*tensors: Tensor) -> list[Tensor]:
    """The tensors in float64 in host memory, by one transfer for all of them."""
    flat = torch.cat([tensor.reshape(-1).to(torch.float64) for tensor in tensors]).cpu()
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def number(tensor: Tensor) -> float:
    """The value of a tensor with one element that is on the host."""
    return float(tensor.flatten().tolist()[0])


def index(tensor: Tensor) -> int:
    """The value of an integer tensor with one element that is on the host."""
    return int(tensor.flatten().tolist()[0])


def truth(tensor: Tensor) -> bool:
    """The value of a boolean tensor with one element that is on the host."""
    return bool(tensor.flatten().tolist()[0])


def is_here(tensor: Tensor) -> bool:
    """Whether its numbers are in host memory, so that reading them never waits."""
    # A subclass of Tensor may have no numbers, and one tensor may stand for many inside `torch.vmap`.
    if tensor.device.type != "cpu" or type(tensor) is not Tensor or tensor.dtype == torch.bfloat16:
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors that are here have the same numbers."""
    return bool((one.numpy() == other.numpy()).all())
