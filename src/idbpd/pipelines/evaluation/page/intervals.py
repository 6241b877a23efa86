"""Priority and limits on unseen data: what was measured, what it is at most, and the limit, next to other models."""

import math
from typing import NamedTuple

from idbpd.experiment.shown import name_of, written
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.evaluation.page.drawing import (
    WIDTH,
    arrow,
    box,
    cross,
    dot,
    drawing,
    line,
    shortened,
    words,
)
from idbpd.pipelines.evaluation.page.facts import SYMBOLS, THIS, Facts, Limit, css_of
from idbpd.pipelines.evaluation.page.markup import Markup, element, figure, joined, name
from idbpd.pipelines.evaluation.page.scales import Scale, linear

ROW, TOP = 25.0, 26.0
NAMES, VALUES = 112.0, 66.0  # widths of the columns at the left and at the right
# A model is far away if it is farther from this model than so many times its own distance to bound and limit.
NEAR = 4.0


class Bar(NamedTuple):
    """One model in the picture."""

    model: str
    value: float
    bound: float | None


def interval_panel(facts: Facts, task: str) -> Markup:
    """The picture of one task."""
    limit = facts.limit(task)
    measure = WORST_CASE if limit is None else limit.measure
    models = facts.models(task)
    own = models[THIS][measure] if limit is None or limit.value is None else limit.value
    bound = facts.study["tasks"][task]["upper_bound"] if limit is None else limit.bound
    bars = [Bar(THIS, own, bound)]
    bars += [Bar(model, found[measure], None) for model, found in models.items() if model != THIS]
    return figure(
        _title(task, limit),
        _drawn(bars, measure, limit, task),
        _caption(facts, task, measure, limit, bound),
        "chart interval",
    )


def _title(task: str, limit: Limit | None) -> Markup:
    if limit is None:
        return joined([name(task), " ", element("span", "has priority", class_="badge first")])
    kind = css_of(limit.verdict)
    badge = element("span", f"{SYMBOLS[kind]} {limit.verdict}", class_=f"badge {kind}")
    return joined([name(task), " ", badge])


def _caption(facts: Facts, task: str, measure: str, limit: Limit | None, bound: float | None) -> str:
    unit = facts.unit(task) if measure.endswith("_loss") else ""
    less = limit is None or limit.less_is_better
    what = (
        f"{name_of(measure)}{f' in {unit}' if unit else ''} on {facts.where}; {'less' if less else 'more'} is better."
    )
    return what if bound is None else f"{what} The bar ends at the bound of this model."


def _drawn(bars: list[Bar], measure: str, limit: Limit | None, task: str) -> Markup:
    scale = _scale(bars, limit)
    bottom = TOP + ROW * len(bars)
    parts: list[object] = []
    if limit is not None:
        parts += _limit_line(scale, limit, measure, bottom)
    own_kind = "first" if limit is None else css_of(limit.verdict)
    for at, bar in enumerate(bars):
        parts += _row(bar, scale, TOP + ROW * (at + 0.5), measure, limit, own_kind)
    return drawing(bottom + 6, _in_words(bars, measure, limit, task), *parts)


def _scale(bars: list[Bar], limit: Limit | None) -> Scale:
    """An axis for this model, its bound, its limit and all models that are not far away; those are at the edge."""
    own = [bars[0].value, bars[0].bound, None if limit is None else limit.limit]
    core = [value for value in own if value is not None and math.isfinite(value)]
    reach = NEAR * (max(core) - min(core)) if core else 0.0
    others = [bar.value for bar in bars[1:] if math.isfinite(bar.value)]
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


def _row(bar: Bar, scale: Scale, y: float, measure: str, limit: Limit | None, own_kind: str) -> list[object]:
    own = bar.model == THIS
    parts: list[object] = [
        words(NAMES - 4, y + 4, shortened(bar.model, NAMES), "label own" if own else "label", "end"),
        words(WIDTH - 2, y + 4, written(measure, bar.value), "label value own" if own else "label value", "end"),
    ]
    if not math.isfinite(bar.value):
        return parts
    place, title = scale.at(bar.value), f"{bar.model}: {written(measure, bar.value)}"
    if own and bar.bound is not None:
        end = scale.at(bar.bound)
        first, width = min(place, end), abs(end - place)
        bound = f"bound {written(measure, bar.bound)}"
        parts += [
            box(first, y - 4, width, 8, f"bar {own_kind}", bound),
            line(end, y - 8, end, y + 8, f"end {own_kind}"),
        ]
    if own:
        return [*parts, dot(place, y, f"dot {own_kind}", title, 6)]
    beyond = limit is not None and not _within(bar.value, limit)
    kind = "beyond-limit" if beyond else "other"
    if not scale.low <= bar.value <= scale.high:
        return [*parts, arrow(place, y, 1 if bar.value > scale.high else -1, f"arrow {kind}", title)]
    return [*parts, cross(place, y, "cross", title) if beyond else dot(place, y, "dot other", title)]


def _within(value: float, limit: Limit) -> bool:
    return value <= limit.limit if limit.less_is_better else value >= limit.limit


def _in_words(bars: list[Bar], measure: str, limit: Limit | None, task: str) -> str:
    told = [f"{bar.model} {written(measure, bar.value)}" for bar in bars]
    if bars[0].bound is not None:
        told[0] += f" with the bound {written(measure, bars[0].bound)}"
    against = "" if limit is None else f", limit {written(measure, limit.limit)}, {limit.verdict}"
    return f"{name_of(measure)} of {task}: {'; '.join(told)}{against}"


LEGEND = (
    ("equal weights", "the plain sum of all mean losses"),
    ("no limits", "the priority task alone, then answers for the others from what it learnt"),
    ("each alone", "a model of its own for every task"),
    ("best weights", "the best of a sweep over fixed weights of the tasks"),
    ("constant guess", "the best answer that looks at no column"),
)


def legend(facts: Facts) -> Markup:
    """What the other models are, and what the marks mean."""
    present = {model for task in facts.kinds for model in facts.models(task)}
    terms = [
        element("div", element("dt", model), element("dd", meaning)) for model, meaning in LEGEND if model in present
    ]
    marks = (
        "A cross is a model that breaks the limit; the shaded side of the line is beyond it. " if facts.limited else ""
    )
    note = f"{marks}An arrow is a model far outside. The measured value may be lucky; the bound is what to rely on."
    return element(
        "div",
        element("h3", "The other models"),
        element("dl", *terms, class_="legend"),
        element("p", note, class_="note"),
        class_="chart key-panel",
    )
