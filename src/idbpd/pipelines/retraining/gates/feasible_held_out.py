"""The limits hold on the test part, with an allowance."""

from typing import Annotated

from pydantic import Field

from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult, at_most


class Options(GateOptions):
    """By which share of a limit it may be exceeded on the test part, whose worst case is harder."""

    held_out_tolerance: Annotated[float, Field(ge=0)] = 0.3


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """The worst-case loss of every task with a limit."""
    tolerance = options.held_out_tolerance
    return [
        at_most(
            f"feasible_held_out_{name}",
            evidence.held_out[name],
            record["threshold"] * (1 + tolerance),
            f"worst-case loss, test; threshold {record['threshold']:.4f} and {tolerance:.0%}",
        )
        for name, record in evidence.certificate["tasks"].items()
    ]


GATE = Gate(Options, check)
