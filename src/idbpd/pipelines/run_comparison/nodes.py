"""Find the runs, judge them, and write the page."""

import pandas as pd

from idbpd.errors import ConfigurationError
from idbpd.experiment.tracked.run import TrackedRun, TrackedRuns
from idbpd.pipelines.run_comparison.marks import Marked, marked
from idbpd.pipelines.run_comparison.page.write import write_comparison
from idbpd.pipelines.run_comparison.parameters import CompareParameters
from idbpd.pipelines.run_comparison.ranking import Ranking, rank
from idbpd.pipelines.run_comparison.summary import summary_table
from idbpd.pipelines.run_comparison.words import headline

HOW = (
    "say what to compare, with one of: --params compare.runs=<id>+<id>, --params compare.dataset=<name>, "
    "--params compare.models=<name>"
)


def compare_runs(tracked_runs: TrackedRuns, compare: CompareParameters) -> tuple[str, pd.DataFrame, str]:
    """The verdict in words, a table for the terminal, and the page."""
    runs = marked(_found(tracked_runs, compare))
    rankings = rank(runs)
    return headline(rankings), summary_table(runs, rankings), _page(runs, rankings, compare)


def _found(store: TrackedRuns, compare: CompareParameters) -> list[TrackedRun]:
    given = [name for name in ("runs", "dataset", "models") if getattr(compare, name)]
    if not given:
        raise ConfigurationError(HOW)
    if len(given) > 1:
        raise ConfigurationError(
            f"parameters {' and '.join(f'compare.{name}' for name in given)} cannot both say what to compare; give one"
        )
    if compare.runs and len(compare.runs) < 2:
        raise ConfigurationError(
            f"parameter 'compare.runs' = {compare.runs[0]!r}: one run alone cannot be compared; write + between ids, "
            "or see its report.html"
        )
    if compare.runs:
        return store.by_id(compare.runs)
    if compare.dataset:
        runs, what = store.last_of(compare.dataset, compare.last), "finished run"
    else:
        runs, what = store.versions_of(compare.models or "", compare.last), "version"
    if len(runs) < 2:
        name = given[0]
        raise ConfigurationError(
            f"parameter 'compare.{name}' = {getattr(compare, name)!r}: it has one {what} only, which cannot be compared"
        )
    return runs


def _page(runs: list[Marked], rankings: list[Ranking], compare: CompareParameters) -> str:
    title = compare.models or compare.dataset or " and ".join(dict.fromkeys(run.run.dataset for run in runs))
    return write_comparison(title, runs, rankings)
