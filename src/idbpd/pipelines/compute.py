"""Where the numbers are crunched."""

import torch

from idbpd.errors import ConfigurationError
from idbpd.pipelines.parameters import ComputeParameters


def resolve_device(parameters: ComputeParameters) -> torch.device:
    """The device to train on; ``auto`` takes an accelerator where there is one."""
    if parameters.device == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator if accelerator is not None else torch.device("cpu")
    device = torch.device(parameters.device)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigurationError(
            f"compute.device = {parameters.device!r}, but this machine has {torch.cuda.device_count()} CUDA devices; "
            "use 'auto' or 'cpu'"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigurationError("compute.device = 'mps', but this machine has no such device; use 'auto' or 'cpu'")
    return device


def resolve_dtype(parameters: ComputeParameters) -> torch.dtype:
    """The floating-point type of the weights and the data."""
    dtype: torch.dtype = getattr(torch, parameters.dtype)
    return dtype
