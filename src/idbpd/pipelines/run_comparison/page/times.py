"""How long the runs took."""

from collections.abc import Sequence

from idbpd.experiment.page.drawing import WIDTH, box, drawing, shortened, words
from idbpd.experiment.page.markup import Markup, element, figure, grid, section
from idbpd.experiment.page.scales import Scale
from idbpd.pipelines.run_comparison.marks import Marked

ROW, TOP, NAMES, VALUES = 22.0, 4.0, 112.0, 62.0


def times(runs: Sequence[Marked]) -> Markup:
    """The section."""
    training = {run.mark: float(run.run.outcome["seconds"]) for run in runs}
    whole = {run.mark: run.run.seconds for run in runs if run.run.seconds is not None}
    machines = {run.run.origin.get("machine") for run in runs}
    other = " The runs are from different machines." if len(machines) > 1 else ""
    note = f"Times depend on what else a machine does; compare them with care.{other}"
    panels = [_bars(runs, training, "The last training", "seconds of the solver")]
    if len(whole) == len(runs):
        panels.append(_bars(runs, whole, "The whole command", "seconds from start to end, models for comparison too"))
    return section("times", "Times", grid(*panels), element("p", note, class_="note"))


def _bars(runs: Sequence[Marked], seconds: dict[str, float], title: str, caption: str) -> Markup:
    x = Scale(0.0, max(*seconds.values(), 1e-9), NAMES, WIDTH - VALUES)
    parts: list[object] = []
    for at, run in enumerate(runs):
        top, value = TOP + ROW * at, seconds[run.mark]
        parts += [
            words(NAMES - 6, top + 14, shortened(run.title, NAMES), "label", "end"),
            box(NAMES, top + 4, max(x.at(value) - NAMES, 1), 12, "bar first", f"{run.mark}: {value:.2f} s"),
            words(x.at(value) + 5, top + 14, f"{value:.1f} s", "label value"),
        ]
    told = "; ".join(f"{run.mark} {seconds[run.mark]:.1f} s" for run in runs)
    return figure(title, drawing(TOP + ROW * len(runs) + 4, f"{title}: {told}", *parts), caption)
