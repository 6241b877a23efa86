"""The parameters of the grid over gamma and alpha."""

from typing import Annotated

from pydantic import Field

from idbpd.experiment.parameters import ParameterBlock, Positive


class TuningParameters(ParameterBlock):
    """How long each trial of the grid may take."""

    max_steps: Annotated[int, Field(ge=1)]
    seconds: Positive | None
