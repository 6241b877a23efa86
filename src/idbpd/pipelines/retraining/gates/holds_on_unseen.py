"""The limits hold on unseen data."""

import math
from typing import Any

from idbpd.experiment.shown import name_of
from idbpd.mtl.bounds import Verdict
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult

WORDS = {
    Verdict.HOLDS: "keeps",
    Verdict.NOT_SHOWN: "is not shown to keep",
    Verdict.BROKEN: "breaks",
}


class Options(GateOptions):
    """Whether a limit may also be one that the test part is too small to show."""

    accept_not_shown: bool = False


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """The verdict on every limit, from the test part."""
    accepted = {Verdict.HOLDS, *([Verdict.NOT_SHOWN] if options.accept_not_shown else [])}
    return [
        GateResult(
            f"holds_on_unseen_{name}",
            _value(record),
            record["reference"],
            Verdict(record["verdict"]) in accepted,
            _in_words(name, record),
        )
        for name, record in evidence.certificate["held_out"]["tasks"].items()
    ]


def _value(record: dict[str, Any]) -> float:
    """What is compared with the reference: a worst-case loss, or the mean error of a measure."""
    measured = record["measured"]
    if measured is None:
        return float(record["worst_case_loss"])
    return math.nan if measured["error"] is None else float(measured["error"])


def _in_words(name: str, record: dict[str, Any]) -> str:
    rows, measured = record["rows_needed"], record["measured"]
    if measured is None:
        what, of = "worst-case loss", (record["worst_case_loss"], record["upper_bound"], record["reference"])
    else:
        what, of = name_of(measured["name"]), (measured["value"], measured["bound"], measured["limit"])
    value, bound, limit = ("not known" if number is None else f"{number:.4f}" for number in of)
    more = f"; {rows} test rows would show it" if rows else ""
    return (
        f"{WORDS[Verdict(record['verdict'])]} the limit of {name} on unseen data ({record['verdict']}: {what} {value}, "
        f"its bound is {bound}, limit {limit}{more})"
    )


GATE = Gate(Options, check)
