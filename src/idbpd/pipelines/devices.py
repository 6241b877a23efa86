"""Where the numbers are crunched."""

import re

import torch


def resolve_device(name: str) -> torch.device:
    """The device of that name; ``auto`` takes an accelerator where there is one.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator if accelerator is not None else torch.device("cpu")
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", name):
        raise ValueError("choose auto, cpu, mps, cuda or a numbered cuda device such as cuda:1")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"this machine has {torch.cuda.device_count()} CUDA devices; choose auto or cpu")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError("this machine has no such device; choose auto or cpu")
    return device
