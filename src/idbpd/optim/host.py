"""Numbers on the host.

``tensor.tolist()`` is one transfer for any number of values, and none for a small tensor that lives on the host anyway;
``float(tensor)`` would go through torch's dispatcher as an operation that waits for a device.
"""

from torch import Tensor


def number(tensor: Tensor) -> float:
    """The value of a tensor with one element."""
    return float(tensor.flatten().tolist()[0])


def index(tensor: Tensor) -> int:
    """The value of an integer tensor with one element."""
    return int(tensor.flatten().tolist()[0])


def truth(tensor: Tensor) -> bool:
    """The value of a boolean tensor with one element."""
    return bool(tensor.flatten().tolist()[0])
