"""The limits hold on unseen data."""

from idbpd.mtl.bounds import Verdict
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult


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
            _in_words(record),
        )
        for name, record in evidence.certificate["held_out"]["tasks"].items()
    ]


def _in_words(record: dict[str, object]) -> str:
    bound, rows = record["upper_bound"], record["rows_needed"]
    bounded = "its bound is not known" if bound is None else f"its bound is {bound:.4f}"
    more = f"; {rows} test rows would show it" if rows else ""
    return f"{record['verdict']}: worst-case loss, test; {bounded}{more}"


GATE = Gate(Options, check)
