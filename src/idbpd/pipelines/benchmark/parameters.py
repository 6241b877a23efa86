"""The parameters of the benchmark."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from idbpd.experiment.parameters import ParameterBlock, Positive, Seed, listed
from idbpd.experiment.registries import methods


def _without_repetition(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError("each may be named once")
    return values


def _all_methods(names: Any) -> Any:
    return list(methods()) if names in ("all", ["all"]) else names


def _known_methods(names: list[str]) -> list[str]:
    for name in names:
        if name not in methods():
            raise ValueError(f"there is no method {name!r}; methods are {', '.join(methods())}")
    return names


_Selection = (BeforeValidator(listed), AfterValidator(_without_repetition), Field(min_length=1))
Names = Annotated[list[str], *_Selection]
Seeds = Annotated[list[Seed], *_Selection]


class LargeDataParameters(ParameterBlock):
    """What is different for large data sets, where one step takes long."""

    samples: Annotated[int, Field(ge=1)]
    seeds: Seeds
    seconds: Positive
    tuning_seconds: Positive
    calibration_steps: Annotated[int, Field(ge=1)]


class SettingChanges(ParameterBlock):
    """What a setting of the benchmark changes of the other blocks."""

    split: dict[str, Any] = Field(default_factory=dict)
    features: dict[str, Any] = Field(default_factory=dict)
    problem: dict[str, Any] = Field(default_factory=dict)
    calibration: dict[str, Any] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)


class BenchmarkParameters(ParameterBlock):
    """Which methods are compared on what, and how much time each gets."""

    datasets: Names
    methods: Annotated[Names, AfterValidator(_known_methods), BeforeValidator(_all_methods)]
    changes: dict[str, SettingChanges]
    settings: Names
    seeds: Seeds
    seconds: Positive
    tuning_seconds: Positive
    calibration_steps: Annotated[int, Field(ge=1)]
    large: LargeDataParameters
    tolerance: Positive
    workers: Annotated[int, Field(ge=1)] | Literal["auto"]
    scheduler: str | None
    folder: str | None
    run: str | None

    @field_validator("settings")
    @classmethod
    def _described(cls, settings: list[str], info: ValidationInfo) -> list[str]:
        changes = info.data.get("changes", settings)
        for name in settings:
            if name not in changes:
                raise ValueError(f"there is no setting {name!r}; settings are {', '.join(changes)}")
        return settings
