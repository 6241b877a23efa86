"""All that a run warned of."""

from collections.abc import Iterator

from idbpd.experiment.page.markup import Markup, element, joined, listed, section
from idbpd.experiment.records.node_warnings import BEFORE
from idbpd.pipelines.evaluation.page.facts import THIS, Facts
from idbpd.pipelines.evaluation.tables import OWN
from idbpd.pipelines.evaluation.verdicts import GUESS

STAGES = {
    BEFORE: "before the first step",
    "ingest": "reading the data",
    "split": "splitting the data",
    "settle_weight_decay": "choosing the weight decay",
    "settle_reserve": "choosing the reserve",
    "calibrate": "calibration",
    "train_constrained": "training",
}


def notices(facts: Facts) -> Markup:
    """The section; it says so if there was nothing."""
    found = list(_all(facts))
    if not found:
        return section("warnings", "Warnings", element("p", "The run gave no warning."))
    return section("warnings", f"Warnings ({len(found)})", listed(found, "warnings"))


def _all(facts: Facts) -> Iterator[Markup]:
    for about, sentence in facts.verdicts.itertuples(index=False):
        if about == GUESS:
            yield _notice("on " + facts.where, str(sentence).replace(OWN, THIS, 1))
    if facts.certificate["status"] != "CONVERGED":
        worst = max(facts.certificate[name] for name in ("stationarity", "infeasibility", "slackness"))
        reason = facts.certificate.get("reason") or facts.certificate["status"]
        yield _notice("training", f"it ended before it converged: {reason}; the largest KKT residual is {worst:.1e}")
    for warning in facts.warnings:
        yield _notice(STAGES.get(warning.node, warning.node.replace("_", " ")), warning.message)


def _notice(stage: str, message: str) -> Markup:
    return joined(
        [element("span", "⚠ ", aria_hidden="true", class_="mark unknown"), element("strong", f"{stage}: "), message]
    )
