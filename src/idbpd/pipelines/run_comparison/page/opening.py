"""The first screen: which run is best, whether that is more than chance, and what to do next."""

from collections.abc import Iterator, Sequence

from idbpd.experiment.page.judged_limit import css_of, verdict_heading, verdict_of
from idbpd.experiment.page.markup import Markup, element, joined, listed, name, text
from idbpd.mtl.bounds import Verdict
from idbpd.pipelines.run_comparison.ranking import Ranking, limits_differ
from idbpd.pipelines.run_comparison.words import best_of, marks_of, meaning, not_comparable, sentence, why_not


def asked(rankings: Sequence[Ranking]) -> Markup:
    """The question that the page answers."""
    tasks = dict.fromkeys(ranking.task for ranking in rankings)
    where = "unseen data" if rankings[0].best.run.part == "test" else "the training data"
    named = joined([element("strong", name(task)) for task in tasks], " or ")
    return joined(["Which run is best at ", named, f" on {where}, among those that keep their limits?"])


def verdict_box(rankings: Sequence[Ranking]) -> Markup:
    """The answer, with its reasons."""
    if len(rankings) > 1:
        some = any(ranking.others for ranking in rankings)
        kind, word, told = "unknown" if some else "broken", not_comparable(rankings), why_not(rankings)
        reasons = [_of_group(ranking) for ranking in rankings]
    else:
        (ranking,) = rankings
        kind = _kind(ranking)
        word, told = best_of(ranking), meaning(ranking)
        reasons = [text(f"{sentence(ranking, against)}.") for against in ranking.others]
    return element(
        "section",
        verdict_heading(kind, word, f"{told[0].upper()}{told[1:]}."),
        listed(reasons, "reasons"),
        element("p", element("strong", "What to do next: "), joined(_next(rankings), " "), class_="next"),
        class_=f"verdict {kind}",
        aria_labelledby="verdict-title",
    )


def _kind(ranking: Ranking) -> str:
    """Colour and symbol: green only for a sure winner that keeps its limits."""
    verdict = css_of(verdict_of(ranking.best.run.certificate))
    return verdict if ranking.is_sure or verdict == "broken" else "unknown"


def _of_group(ranking: Ranking) -> Markup:
    marks = marks_of(ranking.runs)
    if not ranking.others:
        return joined([element("strong", marks), ": alone; nothing here can be compared with it."])
    told = "; ".join(sentence(ranking, against) for against in ranking.others)
    return joined([element("strong", marks), f": {best_of(ranking)}. {told}."])


def _next(rankings: Sequence[Ranking]) -> Iterator[Markup]:
    if len(rankings) > 1:
        yield text("train them with the same data, priority and")
        yield element("code", "split.seed")
        yield text("to compare them.")
        return
    (ranking,) = rankings
    best = ranking.best
    if verdict_of(best.run.certificate) == Verdict.BROKEN:
        yield text("do not rely on any of them: even the best one breaks a limit. See its report.")
    elif ranking.is_sure:
        yield text(f"use {best.mark}, if its parameters are what you want.")
    else:
        yield text("do not choose by this number alone: take the simpler or the cheaper one, or train again with more")
        yield joined(["unseen rows (", element("code", "split.test_fraction"), ")."])
    if limits_differ(ranking.runs):
        yield text("The limits differ, and a looser limit makes the priority task easier: see below.")
