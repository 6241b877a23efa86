"""How the losses of single samples are spread, with worst case and limit."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from idbpd.experiment.page.drawing import WIDTH, axes, box, drawing, line, path, words
from idbpd.experiment.page.markup import Markup, element, figure, grid, name, section
from idbpd.experiment.page.scales import Scale, short
from idbpd.experiment.shown import loss_label
from idbpd.pipelines.evaluation.page.facts import Facts

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 40.0, WIDTH - 10, 34.0, 176.0, 216.0
NAMES = {"train": "training", "test": "unseen"}


def losses(facts: Facts) -> Markup:
    """The section."""
    panels = [_panel(facts, task) for task in facts.kinds]
    note = (
        "Heights are on a logarithmic axis, so that a single sample can be seen. A worst case is a weighted mean of "
        "all losses, with the most weight at the right."
    )
    return section("losses", "Losses of single samples", grid(*panels), element("p", note, class_="note"))


def _panel(facts: Facts, task: str) -> Markup:
    histogram = facts.study["tasks"][task]["histogram"]
    samples = facts.study["tasks"][task]["samples"]
    keys = [
        element("span", element("span", "", class_=f"key {part}"),
                f"{NAMES[part]}: {samples[part]} samples, worst case {histogram['worst_case'][part]:.4g}")
        for part in histogram["counts"]
    ]  # fmt: skip
    return figure(name(task), _drawn(histogram, samples, task, facts.unit(task)), element("span", *keys, class_="keys"))


def _drawn(histogram: Mapping[str, Any], samples: Mapping[str, int], task: str, unit: str) -> Markup:
    edges: Sequence[float] = histogram["edges"]
    x = Scale(edges[0], edges[-1], LEFT, RIGHT, histogram["scale"])
    shares = {part: [100 * n / samples[part] for n in counts] for part, counts in histogram["counts"].items()}
    least = 50 / max(samples.values())  # half of one sample: each can be seen
    most = max((share for values in shares.values() for share in values), default=1.0)
    y = Scale(least, max(1.3 * most, 10 * least), BOTTOM, TOP, "log")
    parts: list[object] = [axes(x, y, x_title=loss_label([unit]).replace("loss", "loss of a sample"), y_text=_percent)]
    for share, left, right in zip(shares.get("train", []), edges, edges[1:], strict=False):
        if share > 0:
            title = f"{share:.3g} % of the training samples: {short(left)} to {short(right)}"
            parts.append(_bar(x, y, left, right, share, title))
    if "test" in shares:
        parts.append(_outline(x, y, edges, shares["test"]))
    for part, value in histogram["worst_case"].items():
        parts.append(line(x.at(value), TOP, x.at(value), BOTTOM, f"worst {part}"))
    parts += _marks(x, histogram)
    return drawing(HEIGHT, _in_words(histogram, samples, task), *parts)


def _bar(x: Scale, y: Scale, left: float, right: float, share: float, title: str) -> Markup:
    top = y.at(share)
    return box(x.at(left), top, max(x.at(right) - x.at(left), 1), BOTTOM - top, "bar train", title)


def _outline(x: Scale, y: Scale, edges: Sequence[float], shares: Sequence[float]) -> Markup:
    points = [(x.at(edges[0]), BOTTOM)]
    for share, left, right in zip(shares, edges, edges[1:], strict=False):
        height = y.at(share) if share > 0 else BOTTOM
        points += [(x.at(left), height), (x.at(right), height)]
    return path([*points, (x.at(edges[-1]), BOTTOM)], "outline test")


def _marks(x: Scale, histogram: Mapping[str, Any]) -> list[object]:
    """The names of the lines; one that is beyond the axis has an arrow."""
    marks: list[object] = []
    limit = histogram["limit"]
    judged = list(histogram["worst_case"])[-1]
    worst = histogram["worst_case"][judged]
    places = [("worst case", worst, TOP - 6, f"name-of {judged}")]
    if limit is not None:
        marks.append(line(x.at(limit), TOP - 14, x.at(limit), BOTTOM, "limit"))
        places.append(("limit in training", limit, TOP - 20, "limit-name"))
    for title, value, height, class_ in places:
        place = x.at(value)
        arrow = " →" if math.isfinite(value) and value > x.high else ""
        on_left = place > (LEFT + RIGHT) / 2
        marks.append(words(place, height, title + arrow, f"label {class_}", "end" if on_left else "start"))
    return marks


def _percent(value: float) -> str:
    return f"{value:.3g} %" if value >= 0.001 else f"{value:.0e} %"


def _in_words(histogram: Mapping[str, Any], samples: Mapping[str, int], task: str) -> str:
    told = [f"{samples[part]} {NAMES[part]} samples with the worst case {histogram['worst_case'][part]:.4g}"
            for part in histogram["counts"]]  # fmt: skip
    edges = histogram["edges"]
    limit = "" if histogram["limit"] is None else f", limit in training {histogram['limit']:.4g}"
    return f"Losses of {task} between {short(edges[0])} and {short(edges[-1])}: {' and '.join(told)}{limit}"
