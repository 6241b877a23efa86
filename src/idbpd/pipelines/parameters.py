"""The parameters that people set, typed and with their limits; every block of ``parameters.yml`` is one class here.

A node that takes one of these gets it checked before anything runs; an unknown key is an error, not a surprise.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
)

from idbpd.baselines import METHODS
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


def _listed(value: Any) -> Any:
    """A list as the command line can give it: Kedro's --params ends a value at a comma, so items are joined by '+'."""
    if isinstance(value, str):
        return [item for item in value.split("+") if item]
    return value if isinstance(value, list | tuple) else [value]


def _without_repetition(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError("each may be named once")
    return values


def _known_methods(names: list[str]) -> list[str]:
    for name in names:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}; methods are {', '.join(METHODS)}")
    return names


_Selection = (BeforeValidator(_listed), AfterValidator(_without_repetition), Field(min_length=1))
Names = Annotated[list[str], *_Selection]
Seeds = Annotated[list[Seed], *_Selection]
Seconds = Annotated[float, Field(gt=0)]


class LargeDataParameters(_Parameters):
    """What is different where one step takes long."""

    samples: Annotated[int, Field(ge=1)]
    seeds: Seeds
    seconds: Seconds
    tuning_seconds: Seconds
    calibration_steps: Annotated[int, Field(ge=1)]


class SettingChanges(_Parameters):
    """What a setting of the benchmark changes of the other blocks."""

    split: dict[str, Any] = {}
    features: dict[str, Any] = {}
    problem: dict[str, Any] = {}
    calibration: dict[str, Any] = {}
    training: dict[str, Any] = {}


class BenchmarkParameters(_Parameters):
    """Which methods are compared on what, and how much time each gets."""

    datasets: Names
    methods: Annotated[Names, AfterValidator(_known_methods)]
    changes: dict[str, SettingChanges]
    settings: Names
    seeds: Seeds
    seconds: Seconds
    tuning_seconds: Seconds
    calibration_steps: Annotated[int, Field(ge=1)]
    large: LargeDataParameters
    tolerance: Annotated[float, Field(gt=0)]
    workers: Annotated[int, Field(ge=1)] | Literal["auto"]
    run: str | None

    @field_validator("settings")
    @classmethod
    def _described(cls, settings: list[str], info: ValidationInfo) -> list[str]:
        changes = info.data.get("changes", settings)
        for name in settings:
            if name not in changes:
                raise ValueError(f"there is no setting {name!r}; settings are {', '.join(changes)}")
        return settings
