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
    regularisation: Annotated[float, Field(alias="lambda")]
    weight_decay: Annotated[float, Field(ge=0)]

    @field_validator("regularisation")
    @classmethod
    def _positive(cls, value: float) -> float:
        if value <= 0:
            raise ValueError(
                "it must be greater than 0: 0.1 is the default, and 1e-3 is already close to the loss of the single "
                "worst sample, which 0 would mean"
            )
        return value


_Limit = Annotated[float, Field(gt=0)]


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
    """How the thresholds of the constraint tasks are found."""

    slack: float
    threshold: _Limit | dict[str, _Limit] | None = None
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Annotated[float, Field(gt=0)]

    @field_validator("slack")
    @classmethod
    def _not_negative(cls, slack: float) -> float:
        if slack < 0:
            raise ValueError(
                "it must be at least 0: a task cannot be asked to be better than it could be on its own; "
                "calibration.threshold sets a limit by hand"
            )
        return slack


class TrainingParameters(_Parameters):
    """How the constrained problem is solved."""

    start: Literal["calibrated", "random"]
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Annotated[float, Field(gt=0)]


class CheckpointParameters(_Parameters):
    """How often a long solve leaves its state behind, and whether a run takes up what it finds."""

    every_seconds: Annotated[float, Field(gt=0)] | None = 30.0
    every_steps: Annotated[int, Field(ge=1)] | None = None
    resume: Literal["auto", "never"] = "auto"


DEFAULT_CHECKPOINT = CheckpointParameters()


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
