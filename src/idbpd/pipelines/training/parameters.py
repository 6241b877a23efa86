"""The parameters of the models that a run is compared with."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from idbpd.experiment.parameters import ParameterBlock, listed

Share = Annotated[float, Field(gt=0, lt=1)]


class ComparisonParameters(ParameterBlock):
    """How the best fixed weights are found: a sweep over the weight of the priority task."""

    sweep: Annotated[list[Share], BeforeValidator(listed), AfterValidator(sorted)]
    margin: Annotated[float, Field(ge=0)]
    validation_fraction: Share
    max_steps: Annotated[int, Field(ge=1)]
