"""A benchmark as one HTML page, in the design of the report of a run."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from idbpd.experiment.page.curve_chart import Axis, Curve, Panel, curve_section, series
from idbpd.experiment.page.document import contents, document, opening
from idbpd.experiment.page.interval_chart import Bar, interval_chart
from idbpd.experiment.page.judged_limit import verdict_heading
from idbpd.experiment.page.markup import Markup, element, figure, grid, listed, section, table
from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.report.curves import curve
from idbpd.pipelines.report.looks import title
from idbpd.pipelines.report.places import places
from idbpd.pipelines.report.profile import TESTS, profiles
from idbpd.pipelines.report.rivals import Duel, Standings, standings
from idbpd.pipelines.report.tables import as_frame, over_seeds, shown

OBJECTIVE = "feasible_objective"
QUANTITIES = {
    OBJECTIVE: "Lowest feasible objective so far",
    "infeasibility": "Violation of the limits",
    "best_stationarity": "Stationarity, with the best multiplier",
}
POINTS = 50
FLOOR = 1e-6  # a logarithmic axis must end somewhere


def write_html(cells: list[BenchmarkCell]) -> str:
    """A page without anything to load: who is best, place by place, curves, times and all numbers."""
    found, frame = standings(cells), over_seeds(cells)
    methods = list(dict.fromkeys(frame["method"]))
    where = places(frame)
    sections = {f"place{at}": f"{title(dataset)}, {setting}" for at, (dataset, setting) in enumerate(where)}
    parts = [
        _place(identifier, name, cells, frame, place, methods)
        for (identifier, name), place in zip(sections.items(), where, strict=True)
    ]
    asked = "Which method reaches the lowest objective within the limits, and is that more than chance?"
    return document(
        "benchmark" if found is None or found.ahead is None else f"benchmark: best is {found.ahead}",
        opening(f"Benchmark of {len(methods)} methods in {len(cells)} runs", "Benchmark", asked),
        element(
            "main",
            _verdict(found, frame),
            _pictures(cells, frame, where, found),
            contents({**sections, "times": "Times", "origin": "Origin"}),
            *parts,
            _times(cells),
            _origin(cells, where, methods),
        ),
    )


def _verdict(found: Standings | None, frame: pd.DataFrame) -> Markup:
    if found is None:
        heading, kind, reasons = verdict_heading("unknown", "ONE METHOD", "There is nothing to compare."), "unknown", []
    else:
        kind = "holds" if found.is_sure else "unknown"
        count = f"{found.first} of {_problems(found.problems)}"
        meaning = f"No method has a lower objective in {count}."
        if found.ahead is None:
            word = "NONE IS AHEAD"
            meaning = f"{', '.join(sorted([found.best, *found.level]))}: each has the lowest objective in {count}."
        else:
            word = f"BEST: {found.best}" if found.is_sure else f"MOST OFTEN BEST: {found.best}"
        heading, reasons = verdict_heading(kind, word, meaning), [_duel(found.best, duel) for duel in found.duels]
    failed = int(frame["failed"].sum())
    note = "A problem is a data set in a setting with a seed; a tie is a difference that no digit shown would tell."
    return element(
        "section",
        heading,
        listed(reasons, "reasons"),
        element("p", note + (f" {failed} run{'' if failed == 1 else 's'} failed." if failed else ""), class_="next"),
        class_=f"verdict {kind}",
        aria_labelledby="verdict-title",
    )


def _problems(number: int) -> str:
    return f"{number} problem{'' if number == 1 else 's'}"


def _duel(best: str, duel: Duel) -> str:
    sure = "more than chance" if duel.is_sure else "chance can do as much"
    return (
        f"{best} next to {duel.rival}: lower in {duel.wins}, higher in {duel.losses}, a tie in {duel.ties}: {sure} "
        "(sign test)."
    )


def _pictures(
    cells: Sequence[BenchmarkCell], frame: pd.DataFrame, where: Sequence[tuple[str, str]], found: Standings | None
) -> Markup:
    raw = as_frame(cells)
    panels = [_picture(raw, frame, place, None if found is None else found.ahead) for place in where]
    heading = element("h2", "Objective within the limits, place by place", id="limits-title")
    return element("section", heading, grid(*panels), id="limits", aria_labelledby="limits-title")


def _picture(raw: pd.DataFrame, frame: pd.DataFrame, place: tuple[str, str], best: str | None) -> Markup:
    here = frame[(frame["dataset"] == place[0]) & (frame["setting"] == place[1])]
    bars = []
    for row in here.sort_values("objective").to_dict("records"):
        method = str(row["method"])
        of_method = (raw["dataset"] == place[0]) & (raw["setting"] == place[1]) & (raw["method"] == method)
        worst = raw.loc[of_method, "lowest_feasible_objective"].fillna(math.inf).max()
        value = float(row["objective"])
        is_feasible = math.isfinite(value)
        bound = float(worst) if is_feasible and math.isfinite(worst) else None
        kind = ("holds" if method == best else "first") if is_feasible else None
        bars.append(Bar(method, value if is_feasible else math.nan, bound, kind, method == best))
    name = f"{title(place[0])}, {place[1]}"
    caption = "Median over the seeds; a bar ends at the worst seed. Without a number: not within the limits."
    return figure(name, interval_chart(bars, WORST_CASE, None, name), caption, "chart interval")


def _place(
    identifier: str,
    name: str,
    cells: Sequence[BenchmarkCell],
    frame: pd.DataFrame,
    place: tuple[str, str],
    methods: Sequence[str],
) -> Markup:
    histories: dict[str, list[pd.DataFrame]] = {}
    for cell in cells:
        if (cell.tags["dataset"], cell.tags["setting"]) == place and not cell.failed:
            histories.setdefault(cell.tags["method"], []).append(cell.history)
    horizontal = [axis for key, words in (("step", "step"), ("seconds", "time in s"))
                  if (axis := _axis(histories, key, words))]  # fmt: skip
    numbers = _table(frame, place)
    if len(horizontal) < 2:
        return section(identifier, name, element("p", "Nothing was measured along the way."), numbers)
    panels = [
        Panel(words, curves, log=quantity != OBJECTIVE)
        for quantity, words in QUANTITIES.items()
        if (curves := _curves(histories, quantity, horizontal, methods))
    ]
    note = element("p", "Medians over the seeds; the horizontal axis is logarithmic.", class_="note")
    return curve_section(identifier, name, note, panels, horizontal, numbers)


def _axis(histories: dict[str, list[pd.DataFrame]], key: str, words: str) -> Axis | None:
    """Places for all methods, from the first measured one to the end of the longest run."""
    at = [history.loc[history[key] > 0, key] for of in histories.values() for history in of if key in history]
    at = [known for known in at if len(known)]
    if not at:
        return None
    first, last = min(float(known.iloc[0]) for known in at), max(float(known.iloc[-1]) for known in at)
    return Axis(key, words, np.geomspace(first, max(last, 1.001 * first), POINTS).tolist(), log=True)


def _curves(
    histories: dict[str, list[pd.DataFrame]], quantity: str, horizontal: Sequence[Axis], methods: Sequence[str]
) -> list[Curve]:
    found = []
    for at, method in enumerate(methods):
        known = [history for history in histories.get(method, []) if quantity in history]
        along = {axis.key: _along(known, quantity, axis) for axis in horizontal}
        if any(math.isfinite(value) for values in along.values() for value in values):
            found.append(Curve(method, series(at), along))
    return found


def _along(histories: Sequence[pd.DataFrame], quantity: str, axis: Axis) -> list[float]:
    """The median curve at the places of the axis; none before its first point and after its last."""
    median = curve([history for history in histories if axis.key in history], quantity, axis.key)
    if not len(median.at):
        return [math.nan] * len(axis.at)
    wanted = np.asarray(axis.at)
    values = median.median[(np.searchsorted(median.at, wanted * (1 + 1e-9), side="right") - 1).clip(min=0)]
    values = values.clip(min=FLOOR).astype(float)
    values[(wanted < median.at[0] * (1 - 1e-9)) | (wanted > median.at[-1] * 1.1)] = math.nan
    return [float(value) for value in values]


def _times(cells: Sequence[BenchmarkCell]) -> Markup:
    """How often each method reached what was asked, and how often it was the fastest."""
    parts = []
    for setting in dict.fromkeys(cell.tags["setting"] for cell in cells):
        found = profiles([cell for cell in cells if cell.tags["setting"] == setting])
        methods = list(next(iter(found.values())))
        rows = [
            (method, *(f"{share:.0%}" for test in TESTS for share in _shares(found[test][method])))
            for method in methods
        ]
        header = ["method", *(text for words in TESTS.values() for text in (f"{words}: solved", "fastest"))]
        parts.append(table(f"Setting {setting}: in which share of the problems", header, rows))
    return section("times", "Times", *parts)


def _shares(ratios: np.ndarray) -> tuple[float, float]:
    return float(np.isfinite(ratios).mean()), float((ratios == 1).mean())


def _origin(cells: Sequence[BenchmarkCell], where: Sequence[tuple[str, str]], methods: Sequence[str]) -> Markup:
    """The options of every method in every place, where they differ from place to place or were chosen."""
    good = [cell for cell in cells if not cell.failed]
    rows = []
    for dataset, setting in where:
        here = {cell.tags["method"]: cell for cell in good
                if (cell.tags["dataset"], cell.tags["setting"]) == (dataset, setting)}  # fmt: skip
        rows.append((f"{title(dataset)}, {setting}", *(_options(here.get(method)) for method in methods)))
    facts = {key: ", ".join(sorted({cell.parameters[key] for cell in good if key in cell.parameters}))
             for key in ("machine", "budget_seconds", "calibration_steps", "tolerance")}  # fmt: skip
    return section(
        "origin",
        "Where it comes from",
        table("Options, chosen for each method by its own trials", ["where", *methods], rows, class_="words"),
        table("All runs", ["what", "value"], [(key.replace("_", " "), value) for key, value in facts.items() if value],
              class_="words"),
    )  # fmt: skip


def _options(cell: BenchmarkCell | None) -> str:
    if cell is None:
        return "no result"
    found = {name: value for name, value in cell.parameters.items() if name.startswith("options.")}
    return ", ".join(f"{name.removeprefix('options.')} {value}" for name, value in found.items()) or "none"


def _table(frame: pd.DataFrame, place: tuple[str, str]) -> Markup:
    here = shown(frame[(frame["dataset"] == place[0]) & (frame["setting"] == place[1])])
    rows = [tuple(row) for row in here.itertuples(index=False, name=None)]
    return table(f"{title(place[0])}, {place[1]}: medians over the seeds", list(here.columns), rows)
