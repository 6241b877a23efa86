"""The blocks of parameters that several pipelines take, typed and with their limits.

A block that only one pipeline takes is in that pipeline's own ``parameters.py``. A node that takes a block gets it
checked before anything runs, and an unknown key is an error.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from idbpd.experiment.choices import Choice, chosen
from idbpd.experiment.registries import default_loss, losses, methods, worst_cases

if TYPE_CHECKING:
    from idbpd.mtl import Kind

AUTO = "auto"
DEFAULT_METHOD = "idbpd"
DEFAULT_LAMBDA = 0.1  # of the penalty, where it is chosen without a number
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Positive = Annotated[float, Field(gt=0)]


class ParameterBlock(BaseModel):
    """A block of a parameters file: cannot be changed, and knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)


# A number such as 1e+3 is one item although it has a '+'.
_ITEM = re.compile(r"[0-9]+\.?[0-9]*[eE]\+[0-9]+(?=\+|$)|[^+]+")


def listed(value: Any) -> Any:
    """A list as it can be written on the command line, with '+' between items: Kedro ends a value at a comma.

    >>> listed("churn+complaint"), listed("0.1+1e+3"), listed(3), listed("")
    (['churn', 'complaint'], ['0.1', '1e+3'], [3], [])
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [item.strip() for item in _ITEM.findall(value)]
    return value if isinstance(value, list | tuple) else [value]


class SplitParameters(ParameterBlock):
    """How the table becomes a training and a test part, and its labels become tasks."""

    by: Literal["label", "position"] = "label"
    tasks: dict[str, Annotated[list[StrictInt | StrictStr], BeforeValidator(listed)]] | None = None
    kind: Literal["labels", "distribution"] | None = None
    unlabelled: Literal["drop", "keep"] = "drop"
    test_fraction: Annotated[float, Field(ge=0, lt=1)]
    seed: Seed


class FeatureParameters(ParameterBlock):
    """How features are scaled before the network sees them."""

    scaling: Literal["auto", "none", "standard", "minmax", "maximum"] = "auto"


def _limit(given: Any) -> Any:
    """A loss, or one measure with its level; which measures a task has depends on its kind, and is checked later."""
    if given is None:
        return None
    named = given if isinstance(given, Mapping) else {"loss": given}
    if len(named) != 1:
        raise ValueError("choose one measure, such as {accuracy: 0.9}")
    ((measure, level),) = named.items()
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < math.inf:
        raise ValueError("choose a positive number for the worst-case loss, or a measure, such as {accuracy: 0.9}")
    return {str(measure): float(level)} if isinstance(given, Mapping) else float(level)


class TaskOptions(ParameterBlock):
    """What people may set for one task; what is not set follows from the parameters for all tasks."""

    slack: Annotated[float, Field(ge=0)] | None = None
    limit: Annotated[Any, BeforeValidator(_limit)] = None
    loss: Any = None
    worst_case: Any = None

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        if self.slack is not None and self.limit is not None:
            raise ValueError("a task has a slack or a limit, not both")
        return self

    @field_validator("loss", mode="before")
    @classmethod
    def _a_loss(cls, given: Any) -> Any:
        if given is not None:
            chosen(given, losses(), "loss")
        return given

    @field_validator("worst_case", mode="before")
    @classmethod
    def _a_worst_case(cls, given: Any) -> Any:
        if given is not None:
            chosen(given, worst_cases(), "worst case", regularisation=1.0)
        return given


class TasksParameters(RootModel[dict[str, TaskOptions]]):
    """The options of tasks, by their names."""

    model_config = ConfigDict(frozen=True)


class ModelParameters(ParameterBlock):
    """The network that the tasks share: one hidden layer of ``hidden`` units, or a module of the user's own."""

    hidden: Annotated[int, Field(ge=1)]
    type: str | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if self.type is not None:
            from idbpd.experiment.module_type import check_module  # noqa: PLC0415 - imports torch

            check_module(self.type, self.options)
        elif self.options:
            raise ValueError("options are those of a network of your own, which model.type names")
        return self


def _above_zero(value: float) -> float:
    if value <= 0:
        raise ValueError(
            "it must be greater than 0: 0.1 is the default, and 1e-3 is already close to the loss of the single "
            "worst sample, which 0 would mean"
        )
    return value


class _Problem(ParameterBlock):
    """The loss of a sample, and the worst case over samples: each a name, or ``{name: {option: value}}``.

    The loss ``auto`` is the usual one for the kind of each task. A named loss is used for the tasks of its kinds. The
    worst case ``auto`` is the penalty of the paper where its lambda is set, and else the worst share of the data.
    """

    # 'lambda' is a Python keyword, so the attribute has the longer name and the file keeps the paper's letter.
    regularisation: Annotated[float, AfterValidator(_above_zero)] | None = Field(default=None, alias="lambda")
    loss: Any = AUTO
    worst_case: Any = AUTO
    beyond_limits: Annotated[float, Field(ge=0, le=1)] = 0.0

    @field_validator("loss", mode="before")
    @classmethod
    def _a_loss(cls, given: Any) -> Any:
        if given != AUTO:
            chosen(given, losses(), "loss")
        return given

    @field_validator("worst_case", mode="before")
    @classmethod
    def _a_worst_case(cls, given: Any) -> Any:
        if given == AUTO:
            return given
        chosen(given, worst_cases(), "worst case", regularisation=DEFAULT_LAMBDA)
        return given

    def loss_choice(self, kind: "Kind", of_task: Any = None) -> Choice:
        """The loss of a task of this kind: its own, or else the one for all tasks if it is for this kind."""
        for given in (of_task, self.loss):
            if given is not None and given != AUTO:
                choice = chosen(given, losses(), "loss")
                if kind in losses()[choice.name].kinds:
                    return choice
        return chosen(default_loss(kind), losses(), "loss")

    def worst_case_choice(self, of_task: Any = None) -> Choice:
        """The worst case of a task: its own, or else the one for all tasks.

        The option ``regularisation`` is what ``problem.lambda`` sets, where the choice states none. ``auto`` is the
        penalty where ``problem.lambda`` is set, and else the share.
        """
        given = self.worst_case if of_task is None else of_task
        if given == AUTO:
            given = "share" if self.regularisation is None else "penalty"
        regularisation = DEFAULT_LAMBDA if self.regularisation is None else self.regularisation
        return chosen(given, worst_cases(), "worst case", regularisation=regularisation)


class ProblemParameters(_Problem):
    """What is minimised: how far the worst case may stray from the data, and how large the weights may grow.

    A model of one task alone, which sets that task's limit, has a weight decay of its own (``alone``, by task): one
    that learnt the noise of its training data would set a limit that no model can keep elsewhere.
    """

    weight_decay: Annotated[float, Field(ge=0)]
    alone: dict[str, Annotated[float, Field(ge=0)]] = {}

    def of_task_alone(self, task: str) -> "ProblemParameters":
        """The problem of training one task alone."""
        return self.model_copy(update={"weight_decay": self.alone.get(task, self.weight_decay), "alone": {}})


def _number_or_auto(value: object) -> object:
    """Checked here to have one message; a union of types has one per type."""
    if value == AUTO or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf):
        return value
    raise ValueError(f"choose a number that is not negative, or {AUTO}")


class ProblemSettings(_Problem):
    """What is minimised, as people set it: the weight decay may be left to a choice on held-out data."""

    weight_decay: Annotated[float | Literal["auto"], BeforeValidator(_number_or_auto)]

    def with_weight_decay(self, weight_decay: float, alone: Mapping[str, float] | None = None) -> ProblemParameters:
        """The problem with a number for the weight decay, and one for each task alone where it differs."""
        numbers = {"weight_decay": weight_decay, "alone": dict(alone or {})}
        return ProblemParameters(**{**self.model_dump(by_alias=True), **numbers})


def _share_or_auto(value: object) -> object:
    if value == AUTO or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1):
        return value
    raise ValueError(f"choose a number from 0 to 1, or {AUTO}")


class CalibrationParameters(ParameterBlock):
    """How the thresholds of the constraint tasks are found."""

    slack: float
    most_given_up: Annotated[float, Field(ge=0, le=1)] = 1.0
    least_room: Annotated[float, Field(ge=0, lt=1)] = 0.0
    reserve: Annotated[float | Literal["auto"], BeforeValidator(_share_or_auto)] = 0.0
    reserve_steps: Annotated[int, Field(ge=1)] = 150
    threshold: Positive | dict[str, Positive] | None = None
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Positive
    preconditioner: bool = True

    @field_validator("slack")
    @classmethod
    def _not_negative(cls, slack: float) -> float:
        if slack < 0:
            raise ValueError(
                "it must be at least 0: a task cannot be asked to be better than it could be on its own; "
                "calibration.threshold sets a limit by hand"
            )
        return slack


class TrainingParameters(ParameterBlock):
    """How the constrained problem is solved."""

    method: str = DEFAULT_METHOD
    start: Literal["calibrated", "random"]
    max_steps: Annotated[int, Field(ge=1)]
    tolerance: Positive

    @field_validator("method")
    @classmethod
    def _known(cls, method: str) -> str:
        if method != DEFAULT_METHOD and method not in methods():
            raise ValueError(f"methods are {', '.join(methods())}")
        return method


class WeightDecaySearchParameters(ParameterBlock):
    """How ``weight_decay: auto`` chooses."""

    grid: Annotated[list[Annotated[float, Field(ge=0)]], BeforeValidator(listed), Field(min_length=1)]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_steps: Annotated[int, Field(ge=1)]


class CheckpointParameters(ParameterBlock):
    """How often a long solve saves its state, and whether a run continues from a saved state."""

    every_seconds: Positive | None = 30.0
    every_steps: Annotated[int, Field(ge=1)] | None = None
    resume: Literal["auto", "never"] = "auto"


DEFAULT_CHECKPOINT = CheckpointParameters()
