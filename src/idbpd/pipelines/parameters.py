"""The parameters that people set, typed and with their limits; every block of ``parameters.yml`` is one class here.

A node that takes one of these gets it checked before anything runs; an unknown key is an error, not a surprise.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator

from idbpd.pipelines.devices import resolve_device

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


class RetrainParameters(_Parameters):
    """When a retraining goes on, and what its model must pass to replace the one in use."""

    force: bool
    train_tolerance: Annotated[float, Field(ge=0)]
    held_out_tolerance: Annotated[float, Field(ge=0)]
    residual_limit: Annotated[float, Field(gt=0)]
    margin: Annotated[float, Field(ge=0)]
    accept_other_tasks: bool


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
