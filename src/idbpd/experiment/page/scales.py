"""From numbers to places on an axis, and the numbers that are written along it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
# On a logarithmic axis a number that is not positive has no place: it is drawn at the end.
MOST_DECADES = 12


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, drawn from ``begin`` to ``end``."""

    low: float
    high: float
    begin: float
    end: float
    kind: Literal["linear", "log"] = "linear"

    def at(self, value: float) -> float:
        """The place of a number; what is beyond an end is at the end."""
        low, high = self.low, self.high
        if math.isnan(value):
            return self.begin
        if self.kind == "log":
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        share = (value - low) / (high - low) if high > low else 0.5
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Round numbers along the axis, about as many as wanted."""
        return _decades(self.low, self.high, wanted) if self.kind == "log" else _round(self.low, self.high, wanted)


def linear(values: Iterable[float], begin: float, end: float, *, margin: float = 0.05, zero: bool = False) -> Scale:
    """An axis on which all finite values have a place, with some room at its ends."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = margin * (high - low) or max(0.05 * abs(high), 1e-9)
    return Scale(low if zero and low == 0 else low - room, high + room, begin, end)


def logarithmic(values: Iterable[float], begin: float, end: float, *, floor: float = 0.0) -> Scale:
    """A logarithmic axis over whole decades; values below ``floor`` are drawn at its lower end."""
    positive = [value for value in values if math.isfinite(value) and value > floor] or [0.1, 1.0]
    high = 10.0 ** math.ceil(math.log10(max(positive)) - 1e-9)
    low = 10.0 ** math.floor(math.log10(min(positive)) + 1e-9)
    low = max(low, high * 10.0**-MOST_DECADES)
    return Scale(low if low < high else high / 10, high, begin, end, "log")


def _round(low: float, high: float, wanted: int) -> list[float]:
    step = (high - low) / max(wanted, 1)
    if not step > 0:
        return [low]
    size = 10.0 ** math.floor(math.log10(step))
    step = size * next(number for number in ROUND if number * size >= step * 0.999)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + at) * step, 12) + 0.0 for at in range(count)]


def _decades(low: float, high: float, wanted: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 2:
        numbers = [number * 10.0**power for power in range(first - 1, last + 1) for number in (1, 2, 5)]
        return [number for number in numbers if low * 0.999 <= number <= high * 1.001]
    step = math.ceil((last - first) / wanted)
    return [10.0**power for power in range(first, last + 1, step)]


def short(value: float) -> str:
    """A number beside an axis.

    >>> [short(value) for value in (0.0, 0.5, 1200.0, 20_000.0, 1e-5, 0.30000000000000004)]
    ['0', '0.5', '1200', '20k', '1e-5', '0.3']
    """
    size = abs(value)
    if size != 0 and (size < 1e-3 or size >= 1e6):
        digits, _, power = f"{value:.2g}".partition("e")
        if not power:
            digits, _, power = f"{value:.0e}".partition("e")
        return f"{digits}e{int(power)}"
    return f"{value / 1000:g}k" if size >= 10_000 else f"{value:.4g}"
