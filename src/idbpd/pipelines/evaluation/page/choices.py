"""What the run chose by itself: weight decay and reserve."""

from collections.abc import Mapping, Sequence
from typing import Any

from idbpd.experiment.page.drawing import WIDTH, axes, box, dot, drawing, path, words
from idbpd.experiment.page.judged_limit import SYMBOLS, css_of
from idbpd.experiment.page.markup import Markup, element, figure, grid, joined, name, section, table
from idbpd.experiment.page.scales import Scale, linear
from idbpd.pipelines.evaluation.page.facts import Facts

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 44.0, WIDTH - 14, 12.0, 150.0, 190.0


def choices(facts: Facts) -> Markup:
    """The section; empty if everything was given."""
    panels = [*_weight_decays(facts.weight_decay)]
    reserves = _reserves(facts.reserve)
    given = f"Weight decay {facts.weight_decay['weight_decay']:g}: given, not chosen."
    return section(
        "choices",
        "What the run chose by itself",
        grid(*panels) if panels else element("p", given),
        reserves,
    )


def _weight_decays(choice: Mapping[str, Any]) -> list[Markup]:
    """A panel of the search for all tasks together, and one for each task that was searched for alone."""
    if not choice["curve"]:
        return []
    panels = [_panel("Weight decay, all tasks together", choice["curve"], choice["weight_decay"])]
    for task, curve in choice.get("curves_alone", {}).items():
        panels.append(_panel(joined(["Weight decay, ", name(task), " alone"]), curve, choice["alone"][task]))
    return panels


def _panel(title: object, curve: Sequence[Mapping[str, Any]], chosen: float) -> Markup:
    tasks = list(curve[0]["ratios"])
    numbers = [point["weight_decay"] for point in curve]
    x = Scale(-0.4, len(numbers) - 0.6, LEFT, RIGHT)
    y = linear([point["ratios"][task] for point in curve for task in tasks], BOTTOM, TOP, zero=True)
    place = x.at(numbers.index(chosen))
    parts: list[object] = [
        box(place - 9, TOP, 18, BOTTOM - TOP, "chosen", f"chosen: {chosen:g}"),
        axes(x, y, x_title="weight decay", x_ticks=range(len(numbers)), x_text=lambda at: f"{numbers[int(at)]:g}"),
        words(place, TOP - 2, "chosen", "label", "middle"),
    ]
    for at, task in enumerate(tasks, start=1):
        series = f"s{(at - 1) % 3 + 1}"
        points = [(x.at(index), y.at(point["ratios"][task])) for index, point in enumerate(curve)]
        parts.append(path(points, f"curve {series}"))
        parts += [
            dot(*point, f"point {series}", f"{task}: {found['ratios'][task]:.3f} at {found['weight_decay']:g}", 3)
            for point, found in zip(points, curve, strict=True)
        ]
    told = "; ".join(f"{task} {_ratio(curve, chosen, task):.2f}" for task in tasks)
    keys = [
        element("span", element("span", "", class_=f"key s{(at - 1) % 3 + 1}"), name(task))
        for at, task in enumerate(tasks, start=1)
    ]
    caption = joined(
        [
            "Worst-case loss on a validation part, as a share of a constant guess's. ",
            element("span", *keys, class_="keys"),
        ]
    )
    return figure(title, drawing(HEIGHT, f"Chosen: {chosen:g}, with {told}", *parts), caption)


def _ratio(curve: Sequence[Mapping[str, Any]], chosen: float, task: str) -> float:
    return float(next(point["ratios"][task] for point in curve if point["weight_decay"] == chosen))


def _reserves(reserve: Mapping[str, Any]) -> Markup:
    rows = []
    for task, tried in reserve.get("tried", {}).items():
        for one in tried:
            judged, number = one["judged"], one["reserve"]
            chosen = " (chosen)" if number == reserve["tasks"][task] else ""
            bound = judged["upper_bound"]
            kind = css_of(judged["verdict"])
            rows.append(
                (
                    joined([name(task), f", {number:.0%}{chosen}"]),
                    f"{judged['worst_case_loss']:.4f}",
                    "not known" if bound is None else f"{bound:.4f}",
                    f"{judged['reference']:.4f}",
                    element("span", f"{SYMBOLS[kind]} {judged['verdict']}", class_=f"mark {kind}"),
                )
            )
    if not rows:
        given = ", ".join(f"{task} {number:.0%}" for task, number in reserve.get("tasks", {}).items())
        return element("p", f"Reserve of the limits in training: {given or 'none'}.")
    header = ["task, room in reserve", "value", "bound", "limit", "verdict"]
    return table("Reserves that were tried on a validation part: how much tighter a limit is in training", header, rows)
