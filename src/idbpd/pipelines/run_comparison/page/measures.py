"""All measures of every task, run by run."""

import math
from collections.abc import Sequence

from idbpd.experiment.page.markup import Markup, element, name, section, table
from idbpd.experiment.shown import name_of, written
from idbpd.experiment.tracked.run import OWN
from idbpd.mtl import is_better
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.page.runs import key
from idbpd.pipelines.run_comparison.ranking import Ranking

KEYS = ("model", "part", "task", "kind", "loss_unit")  # of the table; all other columns are measures


def measures(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> Markup:
    """The section; a best value is in bold only where the runs can be compared."""
    tasks = list(dict.fromkeys(task for run in runs for task in run.run.kinds))
    return section("quality", "Quality", *(_of_task(runs, task, comparable=len(rankings) == 1) for task in tasks))


def _of_task(runs: Sequence[Marked], task: str, *, comparable: bool) -> Markup:
    found = [_measured(run, task) for run in runs]
    names = list(dict.fromkeys(measure for values in found for measure in values))
    rows = [
        (name_of(measure), *(_cell(measure, values.get(measure), found, comparable=comparable) for values in found))
        for measure in names
    ]
    bold = "; the best in bold, by chance or not" if comparable else ""
    caption = f"All measures, on the part that each run was judged on{bold}"
    shown = table(caption, ["measure", *(key(run) for run in runs)], rows)
    return element("article", element("h3", name(task)), shown, class_="task")


def _measured(run: Marked, task: str) -> dict[str, float]:
    rows = run.run.comparison
    here = rows[(rows["model"] == OWN) & (rows["task"].astype(str) == task) & (rows["part"] == run.run.part)]
    records = here.drop(columns=[key for key in KEYS if key in here]).to_dict("records")
    return {str(key): float(value) for key, value in (records[0] if records else {}).items() if not math.isnan(value)}


def _cell(measure: str, value: float | None, all_: Sequence[dict[str, float]], *, comparable: bool) -> object:
    if value is None:
        return ""
    shown = written(measure, value)
    others = [values[measure] for values in all_ if measure in values]
    best = comparable and len(set(others)) > 1 and not any(is_better(measure, other, value) for other in others)
    return element("strong", shown) if best else shown
