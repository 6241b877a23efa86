"""Where the numbers are crunched."""

import re

import torch


def resolve_device(name: str) -> torch.device:
    """The device of that name; ``auto`` takes a CUDA device where there is one.

    Values are summed in float64, which Apple's devices do not have, so these are not offered.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, cuda or a numbered cuda device such as cuda:1")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"this machine has {torch.cuda.device_count()} CUDA devices; choose auto or cpu")
    return device
