"""The parameters of an energy budget."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from idbpd.energy import Costs, Hardware
from idbpd.experiment.parameters import ParameterBlock, Positive

Steps = Annotated[int, Field(ge=1)]


class CostParameters(ParameterBlock):
    """Picojoules per operation."""

    multiply: Positive
    add: Positive
    on_chip: Positive
    off_chip: Positive


class EnergyParameters(ParameterBlock):
    """The budget, what operations cost, and how the problem is solved."""

    budget: float
    costs: CostParameters
    uncertainty: Literal["ball", "box"]
    radius: float
    stages: Steps
    stage_steps: Steps
    max_steps: Steps
    sharpness: Annotated[float, Field(gt=0, le=1)]
    tolerance: Positive
    residual_limit: Positive

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if not 0 < self.budget <= 1:
            raise ValueError(
                f"budget = {self.budget:g}: it is a share of the dense network's energy, above 0 and at most 1"
            )
        _ = self.hardware  # it refuses sets with negative energies
        return self

    @property
    def hardware(self) -> Hardware:
        """The uncertain costs."""
        return Hardware(Costs(**self.costs.model_dump()), self.uncertainty, self.radius)
