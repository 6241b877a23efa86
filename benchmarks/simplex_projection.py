"""Which exact projection onto the simplex is the fastest in torch: the one in use against the other known ones.

Run: ``PYTHONPATH=src python benchmarks/simplex_projection.py``. The methods take turns, the best of several rounds
counts. Times of the method in use are in microseconds, those of the others are ratios to it: above 1 is slower.
"""

import random
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from idbpd.optim.sets.simplex_projection import project_onto_simplex

Projection = Callable[[Tensor], Tensor]


def by_sort(v: Tensor) -> Tensor:
    """Sort all entries; no step depends on the numbers."""
    u = _shifted(v)
    return _finish(u, _prefix_threshold(u.sort(descending=True).values))


def by_michelot(v: Tensor) -> Tensor:
    """Drop what is below the threshold of what is left, until nothing is dropped."""
    u = left = _shifted(v)
    while True:
        count = left.numel()
        theta = (left.sum() - 1.0) / count
        left = left.masked_select(left > theta)
        if left.numel() == count:
            return _finish(u, theta)


def by_top_k(v: Tensor) -> Tensor:
    """Sort the 256 largest entries only, and four times as many while they do not suffice."""
    u = _shifted(v)
    k = min(256, u.numel())
    while True:
        down = u.topk(k).values
        theta = _prefix_threshold(down)
        if k == u.numel() or bool(down[-1] <= theta):
            return _finish(u, theta)
        k = min(4 * k, u.numel())


def by_newton(v: Tensor) -> Tensor:
    """Newton's method on ``sum [v - theta]_+ = 1`` without dropping entries, until theta stops growing."""
    u = _shifted(v)
    theta = torch.maximum((u.sum() - 1.0) / u.numel(), u.new_tensor(-1.0))
    while True:
        p = (u - theta).clamp(min=0.0)
        ahead = theta + (p.sum() - 1.0) / (p > 0.0).sum()
        if bool(ahead <= theta):
            return _finish(u, theta)
        theta = ahead


def by_newton_without_looking(v: Tensor) -> Tensor:
    """The same with a fixed number of steps: log2(n) + 26 are enough for float64, whatever the numbers."""
    u = _shifted(v)
    theta = torch.maximum((u.sum() - 1.0) / u.numel(), u.new_tensor(-1.0))
    for _ in range(u.numel().bit_length() + (26 if v.dtype == torch.float64 else 12)):
        p = (u - theta).clamp(min=0.0)
        theta = theta + (p.sum() - 1.0) / (p > 0.0).sum()
    return _finish(u, theta)


def by_bisection(v: Tensor) -> Tensor:
    """Halve the interval of theta until the support is settled to rounding, then one Newton step: fixed steps too."""
    u = _shifted(v)
    low, high = u.new_tensor(-1.0), u.new_tensor(0.0)
    for _ in range(50 if v.dtype == torch.float64 else 24):
        middle = 0.5 * (low + high)
        above = (u - middle).clamp(min=0.0).sum() > 1.0
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    p = (u - low).clamp(min=0.0)
    return _finish(u, low + (p.sum() - 1.0) / (p > 0.0).sum())


METHODS: dict[str, Projection] = {
    "sort": by_sort,
    "michelot": by_michelot,
    "top-k": by_top_k,
    "newton": by_newton,
    "newton, fixed": by_newton_without_looking,
    "bisection": by_bisection,
}


def inputs(n: int, dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """What robust training projects, 1/n + l/(lambda n), from sparse to dense results, and an input made to be hard."""
    losses = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).square()
    for strength in (1e-3, 0.1, 10.0):
        yield f"lambda {strength:g}", (1.0 / n + losses / (strength * n)).to(dtype)
    yield "geometric", -torch.logspace(0.0, -15.0, n, dtype=torch.float64).to(dtype)


def best_seconds(methods: list[Projection], v: Tensor, rounds: int) -> list[float]:
    """The shortest time of each method, in turns of changing order: what ran before leaves traces in the cache."""
    best = [float("inf")] * len(methods)
    order = list(range(len(methods)))
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for i in order:
            begin = time.perf_counter()
            methods[i](v)
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(
        f"{'n':>8} {'dtype':8}{'input':13}{'support':>8}{'in use, us':>12}" + "".join(f"{name:>15}" for name in METHODS)
    )
    for n in (100, 1_000, 5_000, 20_000, 100_000, 1_000_000):
        for dtype in (torch.float32, torch.float64):
            for name, v in inputs(n, dtype):
                p = project_onto_simplex(v)
                for other in METHODS.values():
                    torch.testing.assert_close(other(v), p, rtol=0.0, atol=8.0 * torch.finfo(dtype).eps)
                rounds = 5 if n >= 1_000_000 else 10 if n >= 100_000 else 40
                mine, *theirs = best_seconds([project_onto_simplex, *METHODS.values()], v, rounds)
                print(
                    f"{n:8d} {str(dtype)[6:]:8}{name:13}{int((p > 0.0).sum()):8d}{mine * 1e6:12.0f}"
                    + "".join(f"{seconds / mine:15.2f}" for seconds in theirs)
                )


def _shifted(v: Tensor) -> Tensor:
    return (v - v.amax()).clamp(min=-2.0)


def _prefix_threshold(down: Tensor) -> Tensor:
    return ((down.cumsum(0) - 1.0) / torch.arange(1, down.numel() + 1, dtype=down.dtype)).amax()


def _finish(u: Tensor, theta: Tensor) -> Tensor:
    p = (u - theta).clamp(min=0.0)
    positive = p > 0.0
    return torch.where(positive, (p - (p.sum() - 1.0) / positive.sum()).clamp(min=0.0), p)


if __name__ == "__main__":
    main()
