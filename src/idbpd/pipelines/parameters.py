"""The parameters that people set, typed and with their limits; every block of ``parameters.yml`` is one class here.

A node that takes one of these gets it checked before anything runs; an unknown key is an error, not a surprise.
"""

import math
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, field_validator

from idbpd.pipelines.devices import resolve_device

AUTO = "auto"
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class _Parameters(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)


class SplitParameters(_Parameters):
    """How the table becomes a training and a test part, and its labels become tasks."""

    by: Literal["label", "position"] = "label"
    tasks: dict[str, list[StrictInt | StrictStr]] | None = None
    unlabelled: Literal["drop", "keep"] = "drop"
    test_fraction: Annotated[float, Field(ge=0, lt=1)]
    seed: Seed


class FeatureParameters(_Parameters):
    """What is done to the features before the network sees them."""

    scaling: Literal["none", "standard", "minmax"] = "none"


class ModelParameters(_Parameters):
    """The network that the tasks share."""

    hidden: Annotated[int, Field(ge=1)]


class ProblemParameters(_Parameters):
    """What is minimised: how far the worst case may stray from the data, and how large the weights may grow."""

    # 'lambda' is a Python keyword, so the attribute has the longer name and the file keeps the paper's letter.
    regularisation: Annotated[float, Field(gt=0, alias="lambda")]
    weight_decay: Annotated[float, Field(ge=0)]


def _number_or_auto(value: object) -> object:
    """One message for both kinds; a union would complain once per kind."""
    if value == AUTO or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf):
        return value
    raise ValueError(f"choose a number that is not negative, or {AUTO}")


class ProblemSettings(_Parameters):
    """What is minimised, as people set it: the weight decay may be left to a choice on held-out data."""

    regularisation: Annotated[float, Field(gt=0, alias="lambda")]
    weight_decay: Annotated[float | Literal["auto"], BeforeValidator(_number_or_auto)]

    def with_weight_decay(self, weight_decay: float) -> ProblemParameters:
        """The problem with a number for the weight decay."""
        return ProblemParameters(**{"lambda": self.regularisation, "weight_decay": weight_decay})


class WeightDecaySearchParameters(_Parameters):
    """How ``weight_decay: auto`` chooses."""

    margin: Annotated[float, Field(ge=0)]
    grid: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_steps: Annotated[int, Field(ge=1)]


class CalibrationParameters(_Parameters):
    """How the threshold of the constraint task is found."""

    slack: Annotated[float, Field(ge=0)]
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Annotated[float, Field(gt=0)]


class TrainingParameters(_Parameters):
    """How the constrained problem is solved."""

    start: Literal["calibrated", "random"]
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Annotated[float, Field(gt=0)]


class ComputeParameters(_Parameters):
    """Where and in which precision it runs."""

    device: str
    dtype: Literal["float32", "float64"]

    @field_validator("device")
    @classmethod
    def _available(cls, device: str) -> str:
        # Asked here, and not when the device is first used, so that nothing has been computed when it is missing.
        resolve_device(device)
        return device
