"""The verdict of a comparison in sentences, for the terminal and the page."""

from collections.abc import Sequence

from idbpd.experiment.page.judged_limit import verdict_of
from idbpd.experiment.shown import name_of, written
from idbpd.mtl import is_better
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.ranking import CHANCE, EQUAL, LIMITS, SURE, UNKNOWN, Against, Ranking

WHY_UNKNOWN = "too few samples, or a run that was tracked before runs kept what is needed for it"


def headline(rankings: Sequence[Ranking]) -> str:
    """The verdict in a few lines."""
    if len(rankings) > 1:
        lines = [f"{not_comparable(rankings)}: {why_not(rankings)}."]
        lines += [f"{best_of(ranking)}: {meaning(ranking)}" for ranking in rankings if ranking.others]
        return "\n".join(lines)
    (ranking,) = rankings
    return "\n".join([f"{best_of(ranking)}: {meaning(ranking)}", *(sentence(ranking, one) for one in ranking.others)])


def not_comparable(rankings: Sequence[Ranking]) -> str:
    """The first words where there are several rankings."""
    return "NOT ALL COMPARABLE" if any(ranking.others for ranking in rankings) else "NOT COMPARABLE"


def best_of(ranking: Ranking) -> str:
    """The first words: which one it is, or that there is none."""
    if ranking.is_sure:
        return f"BEST: {ranking.best.mark}"
    if all(against.verdict == EQUAL for against in ranking.others):
        return "NO DIFFERENCE"
    if any(against.verdict == UNKNOWN for against in ranking.others):
        return f"MEASURED BEST: {ranking.best.mark}"
    return f"NO CLEAR BEST: {ranking.best.mark} is measured best"


def meaning(ranking: Ranking) -> str:
    """What is behind it, in one sentence."""
    if ranking.is_sure:
        other = "the other one" if len(ranking.others) == 1 else f"each of the other {len(ranking.others)}"
        return f"better than {other} in {ranking.task} by more than chance, or the one that keeps its limits"
    if all(against.verdict == EQUAL for against in ranking.others):
        return f"all runs have the same {name_of(ranking.measure)} in {ranking.task}, in the digits shown"
    if any(against.verdict == UNKNOWN for against in ranking.others):
        return f"whether the difference is more than chance is not known ({WHY_UNKNOWN})"
    return f"not every difference in {ranking.task} is more than what chance can do on the unseen rows"


def sentence(ranking: Ranking, against: Against) -> str:
    """The best run next to another one."""
    measure, best = ranking.measure, ranking.best.mark
    own = "unknown" if ranking.value is None else written(measure, ranking.value)
    theirs = "unknown" if against.value is None else written(measure, against.value)
    numbers = f"{name_of(measure)} {own} against {theirs}"
    if against.verdict == LIMITS:
        verdicts = f"{verdict_of(ranking.best.run.certificate)} against {verdict_of(against.other.run.certificate)}"
        return f"{best} next to {against.other.mark}: {numbers}, but its limits come first ({verdicts})"
    ending = {
        SURE: "better by more than chance",
        CHANCE: "better, but chance can do as much",
        EQUAL: "the same, in the digits shown",
        UNKNOWN: "whether it is more than chance is not known",
    }[against.verdict]
    return f"{best} next to {against.other.mark}: {numbers}: {ending}"


def why_not(rankings: Sequence[Ranking]) -> str:
    """Why not all runs can be compared with each other."""
    if len({ranking.task for ranking in rankings}) > 1:
        told = "; ".join(f"{marks_of(ranking.runs)} {ranking.task}" for ranking in rankings)
        return f"the runs put different tasks first ({told})"
    if len({ranking.best.run.part for ranking in rankings}) > 1:
        return "some runs were judged on unseen data and some on the training data"
    told = "; ".join(f"{marks_of(ranking.runs)}: {_samples(ranking)}" for ranking in rankings)
    return f"the runs were judged on different samples ({told})"


def less_is_better(measure: str) -> bool:
    """Whether a small value is a good one."""
    return is_better(measure, 0.0, 1.0)


def _samples(ranking: Ranking) -> str:
    run = ranking.best.run
    count = None if run.standing is None else run.standing["tasks"][run.priority]["samples"]
    return run.dataset if count is None else f"{count} of {run.dataset}"


def marks_of(runs: Sequence[Marked]) -> str:
    """The marks of runs in words."""
    *first, last = [run.mark for run in sorted(runs, key=lambda run: run.at)]
    return f"{', '.join(first)} and {last}" if first else last
