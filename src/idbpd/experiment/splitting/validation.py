"""The validation part: the training rows are divided once more, to choose weight decay and reserve on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import TaskTable
from idbpd.experiment.parameters import WeightDecaySearchParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.stored_split import divided, is_streamed
from idbpd.experiment.splitting.table_split import validation_parts
from idbpd.mtl import MultiTaskData

Rows = NDArray[np.intp]
FRACTION = "weight_decay_search.validation_fraction"


class Parts(NamedTuple):
    """The training part, divided once more."""

    fit: MultiTaskData  # to learn from
    validation: MultiTaskData  # to measure on


def parts_to_choose_on(
    table: TaskTable, rows: Rows, rules: WeightDecaySearchParameters, division: Division, train: MultiTaskData | None
) -> Parts:
    """The training part, divided by the same rules as the table: the same parts for every choice of a run.

    It goes back to the table for that, and not to ``train``: ``train`` has no groups and no labels outside the tasks,
    by which rows are divided, and its features are scaled with the validation samples in view. All later stages use
    the whole training part again. A `DataError` says why there is no validation part.
    """
    return divided_again(table, rows, rules.validation_fraction, division, FRACTION, train)


def divided_again(
    table: TaskTable, rows: Rows, fraction: float, division: Division, parameter: str, train: MultiTaskData | None
) -> Parts:
    """The training rows of a table, divided once more; ``parameter`` sets the fraction.

    A table that is larger than memory is not encoded a second time: its parts are rows of ``train``.
    """
    if is_streamed(table):
        assert train is not None
        return Parts(*divided(train, table, rows, fraction, division.split.seed))
    made = validation_parts(table.of_rows(rows), fraction, division, parameter)
    return Parts(made.train, made.held_out)
