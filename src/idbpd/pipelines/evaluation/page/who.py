"""Who the worst case is made of: groups, columns that stand out, and the hardest samples."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from idbpd.experiment.page.drawing import WIDTH, axes, box, drawing, image, line, path, shortened, words
from idbpd.experiment.page.markup import (
    Markup,
    element,
    figure,
    grid,
    joined,
    name,
    section,
    table,
    whole,
)
from idbpd.experiment.page.scales import Scale, short
from idbpd.pipelines.evaluation.page.facts import Facts

ROW = 34.0
SHORT = 18  # letters
PIXELS = 96  # the side of a pictured sample


def who(facts: Facts) -> Markup:
    """The section: a part per task."""
    tasks = [_task(facts, task) for task in facts.kinds]
    return section("who", "Who the worst case is made of", *tasks)


def _task(facts: Facts, task: str) -> Markup:
    study = facts.study["tasks"][task]
    protects = facts.certificate.get("protects", {}).get(task)
    cards = _cards(study["hardest"], facts.where)
    panels = [_weights(study), *([_columns(study, facts)] if study["standing_out"] else [])]
    return element(
        "article",
        element("h3", name(task)),
        element("p", f"The worst case protects {protects}.") if protects else "",
        grid(*panels, cards, class_="panels fixed"),
        "" if study["standing_out"] or facts.study["content"] == "images" else element("p", _nothing(study)),
        _groups(study["groups"], facts.where),
        "" if cards else _hardest(study["hardest"], task, facts.where),
        class_="task",
    )


def _samples(study: Mapping[str, Any]) -> str:
    """Which samples are compared with the rest."""
    looked = study["looked_at"]
    how = "with more than an equal share of the weight" if looked["by"] == "weight" else "with the largest losses"
    return f"the {looked['members']} of {looked['of']} samples {how}"


def _nothing(study: Mapping[str, Any]) -> str:
    return f"In no column do {_samples(study)} differ from the rest by more than chance would explain."


def _weights(study: Mapping[str, Any]) -> Markup:
    """Which share of the weight the heaviest samples have."""
    left, right, top, bottom = 40.0, WIDTH - 12, 10.0, 150.0
    x, y = Scale(0, 100, left, right), Scale(0, 100, bottom, top)
    ticks = [0, 20, 40, 60, 80, 100]

    def percent(value: float) -> str:
        return f"{value:g} %"

    tenth = _at(study["curve"], 10.0)
    parts = [
        axes(x, y, x_title="samples, the heaviest first", x_ticks=ticks, y_ticks=[0, 50, 100],
             x_text=percent, y_text=percent),
        line(left, bottom, right, top, "equal"),
        path([(x.at(a), y.at(b)) for a, b in study["curve"]], "curve s1"),
    ]  # fmt: skip
    told = f"The heaviest tenth of the samples has {tenth:.0f} % of the weight; on the dotted line it would have 10 %."
    return figure("Weight in the worst case", drawing(190, told, *parts), told, heading="h4")


def _at(curve: Sequence[Sequence[float]], share: float) -> float:
    """The height of the curve at a share, between its points."""
    for (x1, y1), (x2, y2) in pairwise(curve):
        if x2 >= share:
            return y1 + (y2 - y1) * (share - x1) / (x2 - x1)
    return 100.0


def _columns(study: Mapping[str, Any], facts: Facts) -> Markup:
    """How far the means of both are apart, in deviations of the column."""
    found = study["standing_out"]
    largest = max(abs(column["difference"]) for column in found)
    x = Scale(-largest, largest, 12.0, WIDTH - 12)
    bottom = ROW * len(found) + 4
    parts: list[object] = []
    for at, column in enumerate(found):
        top, place = ROW * at, x.at(column["difference"])
        kind = "more" if column["difference"] > 0 else "less"
        both = f"{_mean(column, 'members')}, others {_mean(column, 'rest')}"
        room = WIDTH - 8 - 6.2 * len(both)
        parts += [
            words(0, top + 12, shortened(column["feature"], room), "label own"),
            words(WIDTH - 2, top + 12, both, "label", "end"),
            box(
                min(place, x.at(0)),
                top + 18,
                abs(place - x.at(0)),
                9,
                f"bar {kind}",
                f"{column['difference']:+.2f} deviations",
            ),
        ]
    parts += [line(x.at(0), 16, x.at(0), bottom, "axis")]
    told = "; ".join(
        f"{column['feature']} {_mean(column, 'members')} against {_mean(column, 'rest')}" for column in found
    )
    caption = (
        f"Means of {_samples(study)}, next to all others on {facts.where}. Bars are differences in deviations of the "
        f"column, the longest {largest:.2f}; to the right is more."
    )
    return figure("Columns that stand out", drawing(bottom + 4, f"Means: {told}", *parts), caption, heading="h4")


def _mean(column: Mapping[str, Any], side: str) -> str:
    return f"{column[side]:.0%}" if column["is_share"] else short(float(f"{column[side]:.3g}"))


def _groups(groups: Sequence[Mapping[str, Any]], where: str) -> Markup:
    if not groups:
        return Markup("")
    ordered = sorted(groups, key=lambda group: -group["weight"])
    rows = [
        (
            name(group["group"]),
            str(group["samples"]),
            f"{group['share']:.1%}",
            joined([f"{group['weight']:.1%} ", _meter(group["weight"])]),
            f"{group['mean_loss']:.4f}",
        )
        for group in ordered
    ]
    header = ["group", "samples", "share of samples", "share of the weight", "mean loss"]
    return table(f"Groups on {where}, the heaviest in the worst case first", header, rows)


def _meter(share: float) -> Markup:
    return element("span", "", class_="meter", style=f"--share:{100 * min(max(share, 0), 1):.1f}%", aria_hidden="true")


def _hardest(samples: Sequence[Mapping[str, Any]], task: str, where: str) -> Markup:
    if not samples:
        return Markup("")
    caption = joined([f"The hardest samples of {where}: ", name(task)])
    columns = list(dict.fromkeys(column for sample in samples for column in sample["columns"]))
    grouped = any(sample["group"] for sample in samples)
    header: list[object] = ["row", "loss", "weight", "true", "model says", *(["group"] if grouped else [])]
    rows = [
        (
            str(sample["row"]),
            f"{sample['loss']:.3g}",
            f"{sample['weight']:.2f}",
            _cell(sample["truth"]),
            _cell(sample["answer"]),
            *([_cell(sample["group"])] if grouped else []),
            *(_cell(sample["columns"].get(column, "")) for column in columns),
        )
        for sample in samples
    ]
    note = "Rows are counted from the first row of data. A weight of 1 is an equal share."
    shown = table(
        caption, [*header, *(element("bdi", column, title=column) for column in columns)], rows, class_="words hardest"
    )
    return joined([shown, element("p", note, class_="note")])


def _cell(content: str) -> Markup:
    """A cell; a short one is not broken at the end of a line."""
    return whole(name(content)) if len(content) <= SHORT else name(content)


def _cards(samples: Sequence[Mapping[str, Any]], where: str) -> Markup:
    """The hardest samples where they are images."""
    if not samples or not samples[0]["image"]:
        return Markup("")
    shown = grid(*(_card(sample) for sample in samples), class_="cards")
    note = "Only the labels of this task are named. Rows are counted from the first row of data."
    heading = element("h4", f"The hardest samples of {where}")
    return element("div", heading, shown, element("p", note, class_="note"), class_="chart wide")


def _card(sample: Mapping[str, Any]) -> Markup:
    told = f"row {sample['row']}: true {sample['truth']}, model says {sample['answer']}"
    return element(
        "figure",
        image(sample["image"], told, PIXELS),
        element(
            "figcaption",
            element("span", "true ", element("strong", sample["truth"])),
            element("span", f"says {sample['answer']}"),
            element("span", f"loss {sample['loss']:.3g}, row {sample['row']}", class_="note"),
        ),
        class_="card",
    )
