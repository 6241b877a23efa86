"""Parameters of the report of a run."""

from typing import Annotated

from pydantic import Field

from idbpd.experiment.parameters import ParameterBlock


class EvaluationParameters(ParameterBlock):
    """What of single samples may be shown."""

    hardest_samples: Annotated[int, Field(ge=0, le=100)] = 6
