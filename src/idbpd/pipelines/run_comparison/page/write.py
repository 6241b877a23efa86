"""The comparison as one page, in the design of the report of a run."""

from collections.abc import Sequence

from idbpd.experiment.page.document import contents, document, opening
from idbpd.experiment.page.markup import Markup, element, grid, joined, name, section
from idbpd.experiment.tracked.run import TrackedRun
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.page.course import course
from idbpd.pipelines.run_comparison.page.measures import measures
from idbpd.pipelines.run_comparison.page.opening import asked, verdict_box
from idbpd.pipelines.run_comparison.page.origin import differences, origin
from idbpd.pipelines.run_comparison.page.pictures import picture
from idbpd.pipelines.run_comparison.page.runs import notices, run_table
from idbpd.pipelines.run_comparison.page.times import times
from idbpd.pipelines.run_comparison.ranking import Ranking
from idbpd.pipelines.run_comparison.words import best_of, not_comparable

CONTENTS = {
    "runs": "Runs",
    "differences": "Differences",
    "training": "Training",
    "times": "Times",
    "quality": "Quality",
    "provenance": "Provenance",
}


def write_comparison(title: str, runs: Sequence[Marked], rankings: Sequence[Ranking]) -> str:
    """A page without anything to load."""
    verdict = best_of(rankings[0]) if len(rankings) == 1 else not_comparable(rankings)
    return document(
        joined([title, f": {verdict}"]),
        opening(f"Comparison of {len(runs)} {_what(runs[0].run)}", name(title), asked(rankings)),
        element(
            "main",
            verdict_box(rankings),
            _pictures(runs, rankings),
            contents(CONTENTS),
            section("runs", "The runs", run_table(runs, rankings), notices(runs, rankings)),
            differences(runs),
            course(runs),
            times(runs),
            measures(runs, rankings),
            origin(runs),
        ),
    )


def _what(run: TrackedRun) -> str:
    return "runs" if run.version is None else "versions of a model"


def _pictures(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> Markup:
    title = element("h2", "Priority and limits, run by run", id="limits-title")
    tasks = list(dict.fromkeys(task for run in runs for task in run.run.kinds))
    best = {ranking.best.mark for ranking in rankings if ranking.others}
    panels = [picture(runs, task, best) for task in tasks]
    return element("section", title, grid(*panels), id="limits", aria_labelledby="limits-title")
