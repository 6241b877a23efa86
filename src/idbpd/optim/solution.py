"""What a run hands back, and what it remembers of its steps."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.kkt import KKT, Residuals
from idbpd.optim.method import Status


class Record(NamedTuple):
    """One step as a callback sees it. Numbers are tensors: reading them waits for the device, keeping them does not."""

    step: int
    f: Tensor
    g: Tensor  # (c,)
    multipliers: Tensor  # (c,)
    kkt: Residuals
    evaluations: int


class History(NamedTuple):
    """The records of a run, one row per step from the start (step 0) on; float64 on the host."""

    step: Tensor
    f: Tensor
    g: Tensor  # (steps, c)
    multipliers: Tensor  # (steps, c)
    stationarity: Tensor
    infeasibility: Tensor
    slackness: Tensor
    evaluations: Tensor

    @property
    def worst(self) -> Tensor:
        """The largest of the three residuals per step."""
        return torch.stack([self.stationarity, self.infeasibility, self.slackness]).amax(0)


def collect(records: Sequence[Record]) -> History:
    """The records side by side: one transfer from the device per quantity."""
    residuals = torch.stack([torch.stack(tuple(record.kkt)) for record in records]).cpu()
    return History(
        torch.tensor([record.step for record in records]),
        torch.stack([record.f for record in records]).cpu(),
        torch.stack([record.g for record in records]).cpu(),
        torch.stack([record.multipliers for record in records]).cpu(),
        residuals[:, 0],
        residuals[:, 1],
        residuals[:, 2],
        torch.tensor([record.evaluations for record in records]),
    )


class Best(NamedTuple):
    """The iterate that would be returned if the run ended now."""

    x: Tensor
    maximisers: tuple[Tensor | None, ...]
    multipliers: Tensor
    f: Tensor
    infeasibility: Tensor
    worst: Tensor


class RunState(NamedTuple):
    """Everything a run needs to go on as if it had never stopped. ``method`` is the state of its method."""

    step: int
    method: Any
    best: Best
    history: tuple[Record, ...]
    evaluations: int
    gradients: int


class Solution(NamedTuple):
    """The answer, with its certificate recomputed at ``x``."""

    x: Tensor | dict[str, Tensor]
    y: Tensor | None
    w: tuple[Tensor | None, ...]
    f: float
    g: Tensor
    multipliers: Tensor
    kkt: KKT
    status: Status
    reason: str
    steps: int
    history: History
    evaluations: int  # how often the values were asked for
    gradients: int  # how often the gradients were asked for
    inner_error: float  # by how much f and g may fall short of the true maxima
    state: RunState
