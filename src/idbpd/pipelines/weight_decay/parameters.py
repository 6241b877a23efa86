"""The parameters of the search for a weight decay."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from idbpd.experiment.parameters import ParameterBlock, listed


class WeightDecaySearchParameters(ParameterBlock):
    """How ``weight_decay: auto`` chooses."""

    grid: Annotated[list[Annotated[float, Field(ge=0)]], BeforeValidator(listed), Field(min_length=1)]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_steps: Annotated[int, Field(ge=1)]
