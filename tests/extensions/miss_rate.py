"""The first guess of the priority task is seldom wrong."""

from typing import Annotated

from pydantic import Field

from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult, at_most


class Options(GateOptions):
    """How often the first guess may be wrong on the test part."""

    most_misses: Annotated[float, Field(ge=0, le=1)] = 0.5


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """One minus the hit rate."""
    misses = 1 - evidence.quality[f"test_{evidence.priority}_hit_rate"]
    note = f"has a wrong first guess in {misses:.1%} of the test samples of the priority task"
    return [at_most("miss_rate", misses, options.most_misses, note)]


GATE = Gate(Options, check)
