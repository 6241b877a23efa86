"""The root of an increasing function of one variable, for many functions at once."""

from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here


def increasing_root(
    function: Callable[[Tensor], tuple[Tensor, Tensor]], low: Tensor, high: Tensor, start: Tensor, max_steps: int = 100
) -> Tensor:
    """Newton's method inside a shrinking bracket ``[low, high]``; it bisects where Newton leaves it or gains too
    little.

    ``function`` returns values and slopes, elementwise, the values of order one before they vanish. A hundred steps
    suffice for bisection alone to exhaust float64 on the brackets used here, so the loop has an end whatever the
    function; with NaN in the bracket NaN comes back. On an accelerator all steps are taken: to know that all roots are
    found, the host would have to wait at every step.
    """
    ends_early = is_here(start)
    eps = torch.finfo(start.dtype).eps
    x, before = start, torch.full_like(start, torch.inf)
    settled = torch.zeros_like(start, dtype=torch.bool)
    for _ in range(max_steps):
        value, slope = function(x)
        low = torch.where(value <= 0.0, x, low)
        high = torch.where(value >= 0.0, x, high)
        step = value / slope
        newton = x - step
        # So close to the root Newton's method squares the error; where it does not even halve it, the value is
        # rounding noise, and bisection would follow the noise.
        stalled = value.abs() > 0.5 * before.abs()
        noise = stalled & (value.abs() <= 1e-9)
        settled = (
            settled | noise | (step.abs() <= 2.0 * eps * x.abs()) | (value.abs() <= eps) | (high <= low) | value.isnan()
        )
        if ends_early and bool(settled.all()):
            break
        helpful = (newton > low) & (newton < high) & ~stalled
        x = torch.where(settled, x, torch.where(helpful, newton, low + (high - low) / 2.0))
        before = torch.where(helpful, value, torch.inf)
    return x
