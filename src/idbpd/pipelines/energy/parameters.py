"""The parameters of an energy budget."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from idbpd.experiment.parameters import ParameterBlock, Positive

if TYPE_CHECKING:
    from idbpd.energy import Hardware

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

    @field_validator("budget")
    @classmethod
    def _is_a_share(cls, budget: float) -> float:
        if not 0 < budget <= 1:
            raise ValueError("it is a share of the dense network's energy, above 0 and at most 1")
        return budget

    @field_validator("radius")
    @classmethod
    def _keeps_energies_positive(cls, radius: float) -> float:
        if not 0 <= radius < 1:
            raise ValueError(
                "it is relative to each cost, from 0 to below 1: a larger set would contain negative energies"
            )
        return radius

    @property
    def hardware(self) -> "Hardware":
        """The uncertain costs."""
        from idbpd.energy import Costs, Hardware  # noqa: PLC0415 - imports torch

        return Hardware(Costs(**self.costs.model_dump()), self.uncertainty, self.radius)
