"""Values with their bounds against a limit: one row per model."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from idbpd.experiment.page.drawing import WIDTH, arrow, box, cross, dot, drawing, line, shortened, words
from idbpd.experiment.page.judged_limit import Limit
from idbpd.experiment.page.markup import Markup
from idbpd.experiment.page.scales import Scale, linear
from idbpd.experiment.shown import name_of, written

ROW, TOP = 25.0, 26.0
NAMES, VALUES = 112.0, 66.0  # widths of the columns at the left and at the right
# A model in the background is drawn to scale within so many widths of the foreground, else at the edge.
NEAR = 4.0


class Bar(NamedTuple):
    """One row of the picture."""

    title: str
    value: float
    bound: float | None = None
    kind: str | None = None  # of its marks: first, holds, unknown or broken; None for those in the background
    is_own: bool = False  # the one that the picture is about
    limit: float | None = None  # its own, where limits differ from row to row


def interval_chart(bars: Sequence[Bar], measure: str, limit: Limit | None, task: str) -> Markup:
    """The drawing; ``limit`` is that of all rows."""
    scale = _scale(bars, limit)
    bottom = TOP + ROW * len(bars)
    parts: list[object] = []
    if limit is not None:
        parts += _limit_line(scale, limit, measure, bottom)
    for at, bar in enumerate(bars):
        parts += _row(bar, scale, TOP + ROW * (at + 0.5), measure, limit)
    return drawing(bottom + 6, _in_words(bars, measure, limit, task), *parts)


def _scale(bars: Sequence[Bar], limit: Limit | None) -> Scale:
    """An axis over the foreground with its bounds and limits, and background values near it; others are at the edge."""
    counts = [bar for bar in bars if bar.kind is not None]
    known = [number for bar in counts for number in (bar.value, bar.bound, bar.limit)]
    known.append(None if limit is None else limit.limit)
    core = [value for value in known if value is not None and math.isfinite(value)]
    reach = NEAR * (max(core) - min(core)) if core else 0.0
    others = [bar.value for bar in bars if bar.kind is None and math.isfinite(bar.value)]
    near = [value for value in others if min(core, default=value) - reach <= value <= max(core, default=value) + reach]
    return linear([*core, *(near if reach > 0 else others)], NAMES + 12, WIDTH - VALUES - 12, margin=0.07)


def _limit_line(scale: Scale, limit: Limit, measure: str, bottom: float) -> list[object]:
    place = scale.at(limit.limit)
    left, right = (place, WIDTH - VALUES - 2) if limit.less_is_better else (NAMES + 2, place)
    room = max(len(f"limit {written(measure, limit.limit)}") * 3.2, 20)
    middle = min(max(place, NAMES + room), WIDTH - VALUES + 20 - room)
    return [
        box(left, TOP - 4, right - left, bottom - TOP + 4, "beyond"),
        line(place, TOP - 6, place, bottom, "limit"),
        words(middle, TOP - 11, f"limit {written(measure, limit.limit)}", "label limit-name", "middle"),
    ]


def _row(bar: Bar, scale: Scale, y: float, measure: str, limit: Limit | None) -> list[object]:
    own = " own" if bar.is_own else ""
    parts: list[object] = [
        words(NAMES - 4, y + 4, shortened(bar.title, NAMES), f"label{own}", "end"),
        words(WIDTH - 2, y + 4, written(measure, bar.value), f"label value{own}", "end"),
    ]
    if not math.isfinite(bar.value):
        return parts
    if bar.limit is not None:
        at = scale.at(bar.limit)
        parts.append(line(at, y - ROW / 2 + 1, at, y + ROW / 2 - 1, "limit"))
    place, title = scale.at(bar.value), f"{bar.title}: {written(measure, bar.value)}"
    if bar.kind is not None and bar.bound is not None:
        end = scale.at(bar.bound)
        first, width = min(place, end), abs(end - place)
        bound = f"bound {written(measure, bar.bound)}"
        parts += [
            box(first, y - 4, width, 8, f"bar {bar.kind}", bound),
            line(end, y - 8, end, y + 8, f"end {bar.kind}"),
        ]
    if bar.kind is not None:
        return [*parts, dot(place, y, f"dot {bar.kind}", title, 6)]
    beyond = limit is not None and not _within(bar.value, limit)
    kind = "beyond-limit" if beyond else "other"
    if not scale.low <= bar.value <= scale.high:
        return [*parts, arrow(place, y, 1 if bar.value > scale.high else -1, f"arrow {kind}", title)]
    return [*parts, cross(place, y, "cross", title) if beyond else dot(place, y, "dot other", title)]


def _within(value: float, limit: Limit) -> bool:
    return value <= limit.limit if limit.less_is_better else value >= limit.limit


def _in_words(bars: Sequence[Bar], measure: str, limit: Limit | None, task: str) -> str:
    against = "" if limit is None else f", limit {written(measure, limit.limit)}, {limit.verdict}".rstrip(", ")
    return f"{name_of(measure)} of {task}: {'; '.join(_row_in_words(bar, measure) for bar in bars)}{against}"


def _row_in_words(bar: Bar, measure: str) -> str:
    bound = "" if bar.bound is None else f" with the bound {written(measure, bar.bound)}"
    limit = "" if bar.limit is None else f", limit {written(measure, bar.limit)}"
    return f"{bar.title} {written(measure, bar.value)}{bound}{limit}"
