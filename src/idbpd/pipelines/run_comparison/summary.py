"""The compared runs as a small table for the terminal."""

from collections.abc import Sequence

import pandas as pd

from idbpd.experiment.page.judged_limit import verdict_of
from idbpd.experiment.shown import name_of, written
from idbpd.pipelines.run_comparison.differences import difference_in_words
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.ranking import Ranking


def summary_table(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> pd.DataFrame:
    """A row per run, in the order of the marks."""
    measures = {run.mark: ranking.measure for ranking in rankings for run in ranking.runs}
    rows = []
    for run in runs:
        measure = measures[run.mark]
        value = run.run.value(run.run.priority, measure)
        shown = "" if value is None else written(measure, value)
        rows.append(
            {
                "run": run.mark + (" champion" if run.run.is_champion else ""),
                "limits": verdict_of(run.run.certificate),
                "priority": f"{run.run.priority}: {name_of(measure)} {shown}",
                "differs in": difference_in_words(run, runs),
                "started": f"{run.run.started:%Y-%m-%d %H:%M}",
                "id": run.run.run_id,
            }
        )
    return pd.DataFrame(rows)
