"""The device that a run computes on."""

import re

import torch

HOST = torch.device("cpu")


def resolve_device(name: str) -> torch.device:
    """The device of that name; ``auto`` takes a CUDA device where there is one.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, cuda, a numbered cuda device such as cuda:1, or mps")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"this machine has {torch.cuda.device_count()} CUDA devices; choose auto or cpu")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError("this machine has no Apple GPU that torch can use; choose auto or cpu")
    return device


def has_float64(device: torch.device) -> bool:
    """Whether the device computes in float64, which the solver's sums need: all but Apple's do."""
    return device.type != "mps"
