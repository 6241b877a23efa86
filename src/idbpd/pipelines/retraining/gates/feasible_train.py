"""The limits hold on the training part."""

from typing import Annotated

from pydantic import Field

from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult, at_most


class Options(GateOptions):
    """By how much a limit may be exceeded on the training part."""

    train_tolerance: Annotated[float, Field(ge=0)] = 1e-3


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """The largest violation in the certificate."""
    violation = evidence.certificate["infeasibility"]
    kept = "keeps all limits" if violation <= options.train_tolerance else "exceeds a limit"
    note = f"{kept} on the training part (largest excess {violation:.2g})"
    return [at_most("feasible_train", violation, options.train_tolerance, note)]


GATE = Gate(Options, check)
