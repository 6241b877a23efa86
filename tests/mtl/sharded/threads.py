"""Ranks as threads of one process: the sums of `torch.distributed` without the seconds that processes take to start."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class ThreadRank:
    """One of several ranks that meet at a barrier."""

    def __init__(self, rank: int, slots: list[Tensor], barrier: threading.Barrier) -> None:
        self._rank, self._slots, self._barrier = rank, slots, barrier
        self.messages = 0

    def sums(self, numbers: Sequence[Tensor]) -> Tensor:
        return self._all(_stacked(numbers)).sum(dim=0)

    def largest(self, numbers: Sequence[Tensor]) -> Tensor:
        return self._all(_stacked(numbers)).amax(dim=0)

    def add(self, tensor: Tensor) -> Tensor:
        return tensor.copy_(self._all(tensor).sum(dim=0))

    def _all(self, mine: Tensor) -> Tensor:
        self.messages += 1
        self._slots[self._rank] = mine.clone()
        self._barrier.wait(20)
        everyone = torch.stack(self._slots)
        self._barrier.wait(20)
        return everyone


def on_ranks(count: int, work: Callable[[int, ThreadRank], T]) -> list[T]:
    """What each rank returns."""
    slots, barrier = [torch.zeros(0)] * count, threading.Barrier(count)
    results: list[T | None] = [None] * count
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            results[rank] = work(rank, ThreadRank(rank, slots, barrier))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((error for error in errors if not isinstance(error, threading.BrokenBarrierError)), errors[0])
    return [result for result in results if result is not None]


def _stacked(numbers: Sequence[Tensor]) -> Tensor:
    return torch.stack([number.to(torch.float64) for number in numbers])
