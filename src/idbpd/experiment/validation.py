"""The validation part: the training rows are divided once more, to choose weight decay and reserve on."""

from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from idbpd.datasets.table import TaskTable
from idbpd.experiment.parameters import ParameterBlock, listed
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import validation_parts
from idbpd.mtl import MultiTaskData

FRACTION = "weight_decay_search.validation_fraction"


class WeightDecaySearchParameters(ParameterBlock):
    """How ``weight_decay: auto`` chooses."""

    grid: Annotated[list[Annotated[float, Field(ge=0)]], BeforeValidator(listed), Field(min_length=1)]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_steps: Annotated[int, Field(ge=1)]


class Parts(NamedTuple):
    """The training part, divided once more."""

    fit: MultiTaskData  # to learn from
    validation: MultiTaskData  # to measure on


def parts_to_choose_on(training_part: TaskTable, rules: WeightDecaySearchParameters, division: Division) -> Parts:
    """The training part, divided by the same rules as the table: the same parts for every choice of a run.

    It goes back to the table for that, and not to ``train``: ``train`` has no groups and no labels outside the tasks,
    by which rows are divided, and its features are scaled with the validation samples in view. All later stages use
    the whole training part again. A `DataError` says why there is no validation part.
    """
    made = validation_parts(training_part, rules.validation_fraction, division, FRACTION)
    return Parts(made.train, made.held_out)
