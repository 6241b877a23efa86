"""A limit as it was judged on unseen data, and the marks of verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idbpd.experiment.page.markup import Markup, element
from idbpd.mtl import is_better
from idbpd.mtl.bounds import Verdict
from idbpd.mtl.chance import WORST_CASE

NOT_CHECKED = "NOT CHECKED"  # in place of a verdict, where no data were held out
SYMBOLS = {"holds": "✔", "unknown": "?", "broken": "✘"}


@dataclass(frozen=True)
class Limit:
    """What is known of the limit of a task, in the measure that it is stated in."""

    measure: str
    limit: float
    value: float | None
    bound: float | None
    verdict: str
    rows: int | None  # unseen rows that it was judged on
    rows_needed: int | None
    alone: float | None  # what a model made for the task alone reaches, of a relative limit

    @property
    def less_is_better(self) -> bool:
        """Whether the limit is a largest value."""
        return is_better(self.measure, 0.0, 1.0)


def limit_of(certificate: Mapping[str, Any], task: str, worst_case_loss: float | None = None) -> Limit | None:
    """The limit of a task on the part that counts; None for the priority task.

    ``worst_case_loss`` is what was measured, for a certificate that does not have it.
    """
    if task not in certificate["tasks"]:
        return None
    if certificate["held_out"] is None:
        record = certificate["tasks"][task]
        value = record["threshold"] + record["constraint"]
        return Limit(WORST_CASE, record["threshold"], value, None, NOT_CHECKED, None, None, None)
    found = certificate["held_out"]["tasks"][task]
    measured = found["measured"] or {
        "name": WORST_CASE,
        "limit": found["reference"],
        "value": found.get("worst_case_loss", worst_case_loss),
        "bound": found["upper_bound"],
    }
    return Limit(
        measured["name"],
        measured["limit"],
        measured["value"],
        measured["bound"],
        found["verdict"],
        found["rows"],
        found["rows_needed"],
        found.get("alone"),
    )


def verdict_of(certificate: Mapping[str, Any]) -> str:
    """The verdict on all limits."""
    held_out = certificate["held_out"]
    return NOT_CHECKED if held_out is None else str(held_out["verdict"])


def css_of(verdict: str) -> str:
    """The class of a verdict in the style sheet."""
    return {Verdict.HOLDS: "holds", Verdict.NOT_SHOWN: "unknown", Verdict.BROKEN: "broken"}.get(
        Verdict(verdict) if verdict in list(Verdict) else Verdict.NOT_SHOWN, "unknown"
    )


def badge(verdict: str) -> Markup:
    """A verdict in a small box, by colour, symbol and word."""
    kind = css_of(verdict)
    return element("span", f"{SYMBOLS[kind]} {verdict}", class_=f"badge {kind}")


def verdict_heading(kind: str, word: object, meaning: object) -> Markup:
    """The first words of a page: the verdict, and what it means."""
    return element(
        "h2",
        element("span", SYMBOLS[kind], class_="symbol", aria_hidden="true"),
        element("span", element("span", word, class_="word"), " ", element("span", meaning, class_="meaning")),
        id="verdict-title",
    )
