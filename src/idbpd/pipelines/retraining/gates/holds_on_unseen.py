"""The limits hold on unseen data."""

from typing import Any

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
            record["worst_case_loss"],
            record["reference"],
            Verdict(record["verdict"]) in accepted,
            _in_words(name, record),
        )
        for name, record in evidence.certificate["held_out"]["tasks"].items()
    ]


def _in_words(name: str, record: dict[str, Any]) -> str:
    bound, rows = record["upper_bound"], record["rows_needed"]
    bounded = "its bound is not known" if bound is None else f"its bound is {bound:.4f}"
    more = f"; {rows} test rows would show it" if rows else ""
    return (
        f"{WORDS[Verdict(record['verdict'])]} the limit of {name} on unseen data ({record['verdict']}: worst-case loss "
        f"{record['worst_case_loss']:.4f}, {bounded}, limit {record['reference']:.4f}{more})"
    )


GATE = Gate(Options, check)
