"""All runs in one table, with the verdict on every limit; and what a reader should not overlook."""

from collections.abc import Iterator, Sequence

from idbpd.experiment.page.judged_limit import badge, limit_of, verdict_of
from idbpd.experiment.page.markup import Markup, element, joined, listed, name, table, whole
from idbpd.experiment.shown import name_of, written
from idbpd.mtl import HEADLINE
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.run_comparison.differences import difference_in_words
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.ranking import Ranking, limits_differ


def run_table(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> Markup:
    """A row per run."""
    limited = list(dict.fromkeys(task for run in runs for task in run.run.certificate["tasks"]))
    order = {run.mark: place for ranking in rankings for place, run in enumerate(ranking.runs, start=1)}
    is_one = len(rankings) == 1
    header: list[object] = [
        "run",
        *(["place"] if is_one else []),
        "all limits",
        *(joined(["limit of ", name(task)]) for task in limited),
    ]
    header += ["priority task", "solver", "differs in", "started"]
    rows = [
        (
            key(run),
            *([str(order[run.mark])] if is_one else []),
            badge(verdict_of(run.run.certificate)),
            *(_limit(run, task) for task in limited),
            _priority(run),
            f"{run.run.outcome['status']}, {run.run.outcome['steps']} steps",
            difference_in_words(run, runs) or "nothing that another run does not have",
            whole(f"{run.run.started:%Y-%m-%d %H:%M}"),
        )
        for run in runs
    ]
    return table("Verdicts and values on the part that each run was judged on", header, rows, class_="words")


def key(run: Marked) -> Markup:
    """The mark of a run with the colour of its curves."""
    champion = element("span", "★ champion", class_="badge first") if run.run.is_champion else ""
    return whole(joined([element("span", "", class_=f"key {run.class_}", aria_hidden="true"), run.mark, " ", champion]))


def _limit(run: Marked, task: str) -> Markup:
    limit = limit_of(run.run.certificate, task, run.run.value(task, WORST_CASE))
    if limit is None:
        return joined([element("span", "no limit", class_="note")])
    value = "unknown" if limit.value is None else written(limit.measure, limit.value)
    side = "at most" if limit.less_is_better else "at least"
    bound = "" if limit.bound is None else f", bound {written(limit.measure, limit.bound)}"
    words = f" {name_of(limit.measure)} {value}{bound}; {side} {written(limit.measure, limit.limit)}"
    return joined([badge(limit.verdict), words])


def _priority(run: Marked) -> Markup:
    tracked = run.run
    task = tracked.priority
    measures = (WORST_CASE, *HEADLINE[tracked.kinds[task]])  # type: ignore[index]
    known = [(measure, tracked.value(task, measure)) for measure in measures]
    told = ", ".join(f"{name_of(measure)} {written(measure, value)}" for measure, value in known if value is not None)
    return joined([name(task), f": {told}"])


def notices(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> Markup:
    """Warnings about the comparison itself."""
    found = [
        joined([element("span", "⚠ ", aria_hidden="true", class_="mark unknown"), notice])
        for notice in _notices(runs, rankings)
    ]
    return listed(found, "warnings")


def _notices(runs: Sequence[Marked], rankings: Sequence[Ranking]) -> Iterator[str]:
    differing = limits_differ(runs)
    if differing:
        yield (
            f"The limits differ ({', '.join(differing)}): a looser limit makes the priority task easier, so a better "
            "value there need not be a better model."
        )
    for ranking in rankings:
        if ranking.others and ranking.measure != WORST_CASE:
            yield (
                f"The runs mean different things by a worst case or a loss, so they are ordered by "
                f"{name_of(ranking.measure)}."
            )
    old = [run.mark for run in runs if run.run.standing is None]
    if old:
        yield f"From before runs kept what a comparison needs: {', '.join(old)}. What chance can do is not known."
    dirty = [run.mark for run in runs if run.run.origin.get("uncommitted changes") == "true"]
    if dirty:
        yield f"Trained by code with changes that were not committed: {', '.join(dirty)}."
    unfinished = [run.mark for run in runs if run.run.outcome["status"] != "CONVERGED"]
    if unfinished:
        yield f"The solver ended before it converged: {', '.join(unfinished)}."
    remarks = [f"{run.mark} {run.run.remark}" for run in runs if run.run.remark]
    if remarks:
        yield f"What became of the versions: {'; '.join(remarks)}."
