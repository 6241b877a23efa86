"""Curves over steps and over seconds that a reader can walk along, hide, and draw over the other axis."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from idbpd.experiment.page.drawing import WIDTH, axes, box, drawing, line, number, path, words
from idbpd.experiment.page.markup import Markup, element, figure, grid, joined, section, single
from idbpd.experiment.page.scales import Scale, linear, logarithmic

FLOOR = 1e-10  # smaller residuals are as good as zero, which a logarithmic axis does not have
LEAST_REACH = 0.02  # an axis reaches this share of the limit to both sides of it, at least
LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 44.0, WIDTH - 10, 12.0, 176.0, 216.0
SERIES = 10  # the style sheet has so many


class Axis(NamedTuple):
    """A horizontal axis: where the points of all curves are on it, and what is said of each of them."""

    key: str  # step or seconds
    title: str
    at: Sequence[float]
    moments: Sequence[str] = ()
    log: bool = False

    @property
    def scale(self) -> Scale:
        """From numbers to places."""
        if self.log:
            return Scale(max(self.at[0], 1e-9), max(self.at[-1], 1e-9), LEFT, RIGHT, "log")
        return Scale(0.0, max(self.at[-1], 1e-9), LEFT, RIGHT)


class Curve(NamedTuple):
    """One line of a panel: its values along each axis, NaN where it has none."""

    title: str
    class_: str
    values: Mapping[str, Sequence[float]]
    mark: str = ""  # written at its end, for those who do not tell the colours apart

    def known(self, axis: str) -> list[float]:
        """The values that are numbers."""
        return [value for value in self.values[axis] if math.isfinite(value)]

    def ends(self, axis: str) -> tuple[float, float]:
        """The first and the last value."""
        known = self.known(axis) or [math.nan]
        return known[0], known[-1]


class Panel(NamedTuple):
    """Curves of one quantity, with its limit."""

    title: object
    curves: Sequence[Curve]
    limit: float | None = None
    limit_title: str = "limit in training"
    log: bool = False


def series(at: int) -> str:
    """The class of the n-th curve, from 0."""
    return f"s{at % SERIES + 1}"


def curve_section(
    identifier: str, title: str, opening: object, panels: Sequence[Panel], horizontal: Sequence[Axis], *below: object
) -> Markup:
    """A section of the page with panels of curves; without moments there is no walking along them."""
    walk = bool(horizontal[0].moments)
    found = section(
        identifier,
        title,
        opening,
        _controls(horizontal, walk=walk),
        grid(*(_panel(panel, horizontal, walk=walk) for panel in panels), class_="panels curves"),
        _data(horizontal) if walk else "",
        *below,
    )
    return element("div", found, class_="walkable")


def _panel(panel: Panel, horizontal: Sequence[Axis], *, walk: bool) -> Markup:
    curves, limit = panel.curves, panel.limit
    reach = [value for curve in curves for axis in horizontal for value in curve.known(axis.key)]
    reach += [] if limit is None else [limit]
    if limit is not None and not panel.log:
        # A curve may follow its limit to many digits: an axis of its range alone would show rounding as waves.
        reach += [limit - LEAST_REACH * abs(limit), limit + LEAST_REACH * abs(limit)]
    y = logarithmic(reach, BOTTOM, TOP, floor=FLOOR) if panel.log else _without_outliers(reach)
    drawings = [_drawn(panel, y, axis, walk=walk) for axis in horizontal]
    keys = [
        element("button", element("span", "", class_=f"key {curve.class_}"), curve.title, type="button",
                aria_pressed="true", class_="series", data_series=curve.class_)
        for curve in curves
    ]  # fmt: skip
    last = " · ".join(_read(curve, curve.ends(horizontal[0].key)[1]) for curve in curves)
    readings = element("output", f"at the end {last}", class_="reading") if walk else ""
    return figure(panel.title, joined(drawings), joined([element("span", *keys, class_="keys"), readings]))


def _without_outliers(values: Sequence[float]) -> Scale:
    """A start far above all that follows would press the rest to the bottom: the axis ends a little above the rest."""
    ordered = sorted(values) or [0.0]
    most = ordered[min(int(0.97 * len(ordered)), len(ordered) - 1)]
    high = ordered[-1]
    room = most + 0.6 * max(most - ordered[0], 0.02 * abs(most))
    return linear([ordered[0], min(high, room)], BOTTOM, TOP)


def _drawn(panel: Panel, y: Scale, axis: Axis, *, walk: bool) -> Markup:
    x, limit = axis.scale, panel.limit
    parts: list[object] = [axes(x, y, x_title=axis.title)]
    if limit is not None:
        place = y.at(limit)
        if not panel.log:
            parts.append(box(LEFT, TOP, RIGHT - LEFT, place - TOP, "beyond"))
        parts.append(line(LEFT, place, RIGHT, place, "limit"))
    for curve in panel.curves:
        points = [
            None if math.isnan(value) or (panel.log and value <= FLOOR) else (x.at(at), y.at(value))
            for at, value in zip(axis.at, curve.values[axis.key], strict=True)
        ]
        parts.append(path(points, f"curve {curve.class_}", data_series=curve.class_))
        ended = [point for point in points if point is not None]
        if curve.mark and ended:
            parts.append(_mark(ended[-1], curve))
    if limit is not None:
        what, place = f"{panel.limit_title} {limit:.4g}", y.at(limit)
        parts.append(words(RIGHT, place - 5 if place > TOP + 12 else place + 13, what, "label limit-name", "end"))
    ends = "; ".join(f"{curve.title} from {first:.4g} to {last:.4g}"
                     for curve in panel.curves for first, last in [curve.ends(axis.key)])  # fmt: skip
    known: dict[str, object] = {}
    if walk:
        parts.append(line(LEFT, TOP, LEFT, BOTTOM, "cursor"))
        known["data_points"] = _points(panel.curves, x, y, axis)
    return drawing(HEIGHT, f"Over {axis.title}: {ends}", *parts, class_=f"over {axis.key}", **known)


def _mark(end: tuple[float, float], curve: Curve) -> Markup:
    mark = words(end[0] - 2, end[1] - 4, curve.mark, f"label name-of {curve.class_}", "end")
    return element("g", mark, data_series=curve.class_)


def _points(curves: Sequence[Curve], x: Scale, y: Scale, axis: Axis) -> str:
    """Where every point is and what it is worth, for the script."""
    known = {
        "x": [number(x.at(at)) for at in axis.at],
        "y": {curve.class_: [None if math.isnan(value) else number(y.at(value)) for value in curve.values[axis.key]]
              for curve in curves},
        "v": {curve.class_: [_read(curve, value) for value in curve.values[axis.key]]
              for curve in curves},
    }  # fmt: skip
    return json.dumps(known, separators=(",", ":"))


def _read(curve: Curve, value: float) -> str:
    return f"{curve.mark} {'ended' if math.isnan(value) else f'{value:.4g}'}".lstrip()


def _controls(horizontal: Sequence[Axis], *, walk: bool) -> Markup:
    """A choice of the axis, and a slider along the steps; both do something only where scripts run."""
    buttons = [
        element("button", f"over {what}", type="button", class_="axis", data_axis=axis.key,
                aria_pressed="true" if axis.key == "step" else "false")
        for axis, what in zip(horizontal, ("steps", "seconds"), strict=False)
    ]  # fmt: skip
    parts = [element("span", *buttons, role="group", aria_label="horizontal axis")] if len(buttons) > 1 else []
    if walk:
        last = len(horizontal[0].at) - 1
        slider = single("input", type="range", min=0, max=last, value=last, id="walk", class_="walk")
        parts += [
            element("label", "walk along the curves ", slider, for_="walk"),
            element("output", "", class_="moment", for_="walk"),
        ]
    return element("div", *parts, class_="controls") if parts else Markup("")


def _data(horizontal: Sequence[Axis]) -> Markup:
    """What is said of every point, for the script."""
    known = {axis.key: list(axis.moments) for axis in horizontal}
    content = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(content), type="application/json", class_="moments")
