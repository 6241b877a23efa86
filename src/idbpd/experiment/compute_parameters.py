"""Where and in which precision a run computes, and with how many processes."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from idbpd.experiment.parameters import ParameterBlock, Positive

ALWAYS_THERE = {"cpu", "auto"}  # and they have float64, so torch need not be asked


def _nccl_devices() -> int:
    """How many devices NCCL can use here."""
    import torch  # noqa: PLC0415 - it takes a second
    import torch.distributed as dist  # noqa: PLC0415

    return torch.cuda.device_count() if dist.is_nccl_available() and torch.cuda.is_available() else 0


class DistributedParameters(ParameterBlock):
    """The ranks that samples are dealt to: ``processes`` on each of ``nodes`` machines."""

    nodes: Annotated[int, Field(ge=1)] = 1
    processes: Annotated[int, Field(ge=1)] = 1
    backend: Literal["gloo", "nccl"] = "gloo"
    endpoint: str | None = None
    folder: str | None = None
    timeout: Positive = 60.0
    restarts: Annotated[int, Field(ge=0)] = 3

    @property
    def ranks(self) -> int:
        """How many ranks there are in all."""
        return self.nodes * self.processes

    @field_validator("backend")
    @classmethod
    def _available(cls, backend: str) -> str:
        if backend == "nccl" and not _nccl_devices():
            raise ValueError("nccl needs CUDA devices and a torch with NCCL, and this machine has none; choose gloo")
        return backend

    @model_validator(mode="after")
    def _check_endpoint_and_devices(self) -> Self:
        if self.nodes > 1 and (self.endpoint is None or not self.endpoint.rpartition(":")[2].isdigit()):
            raise ValueError("several nodes meet at an endpoint; choose one such as endpoint: first-node:29400")
        if self.backend == "nccl" and self.processes > _nccl_devices():
            raise ValueError(f"nccl needs a CUDA device for each process, and there are {_nccl_devices()}")
        return self


ALONE = DistributedParameters()


class ComputeParameters(ParameterBlock):
    """Where and in which precision it runs."""

    device: str
    dtype: Literal["float32", "float64"]
    threads: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    deterministic: bool = True
    distributed: DistributedParameters = ALONE

    @field_validator("device")
    @classmethod
    def _available(cls, device: str) -> str:
        # Checked before the run, so that a missing device costs no computation.
        if device not in ALWAYS_THERE:
            from idbpd.experiment.machine.devices import resolve_device  # noqa: PLC0415 - imports torch

            resolve_device(device)
        return device

    @model_validator(mode="after")
    def _has_dtype(self) -> Self:
        if self.dtype == "float64" and not self._has_float64():
            raise ValueError(f"device {self.device} has no float64; choose dtype float32, or device cpu")
        if self.distributed.ranks > 1 and not self._has_float64():
            raise ValueError(f"device {self.device} cannot add up over several processes; choose device cpu")
        return self

    def _has_float64(self) -> bool:
        if self.device in ALWAYS_THERE:
            return True
        from idbpd.experiment.machine.devices import has_float64, resolve_device  # noqa: PLC0415 - imports torch

        return has_float64(resolve_device(self.device))

    def in_float64_here(self) -> "ComputeParameters":
        """The same in float64, and in this process: what a certificate is computed with."""
        return self.model_copy(update={"dtype": "float64", "distributed": ALONE})
