"""The model is close to a KKT point."""

import math
from typing import Annotated

from pydantic import Field

from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult, at_most

RESIDUALS = ("stationarity", "infeasibility", "slackness")


class Options(GateOptions):
    """What the worst of the three KKT residuals may be at most."""

    residual_limit: Annotated[float, Field(gt=0)] = 1e-2


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """The worst of the three; a residual that is not a number is worse than any number."""
    worst = max((evidence.certificate[name] for name in RESIDUALS), key=_nan_is_worst)
    near = "is close to a KKT point" if worst <= options.residual_limit else "is not close to a KKT point"
    note = f"{near} (worst of {', '.join(RESIDUALS)}: {worst:.2g})"
    return [at_most("residual", worst, options.residual_limit, note)]


def _nan_is_worst(value: float) -> float:
    return math.inf if math.isnan(value) else value


GATE = Gate(Options, check)
