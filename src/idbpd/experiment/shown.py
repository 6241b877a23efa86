"""How measures are written where people read them: names, digits and units."""

import math
from collections.abc import Iterable

from idbpd.datasets.tabular.numeral import in_digits
from idbpd.mtl import CrossEntropy, Huber, Logistic, Loss, Squared, TaskQuality
from idbpd.mtl.chance import WORST_CASE

NAMES = {
    "roc_auc": "ROC AUC",
    "brier": "Brier score",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R2",
    WORST_CASE: "worst-case loss",
    "cvar_loss": "CVaR-5 % loss",
}
PERCENT = ("accuracy", "hit_rate", "exact_match", "recall", "precision", "specificity")
OWN_UNIT = ("mae", "rmse")  # of the target: any size of number
UNITS: dict[type, str] = {
    CrossEntropy: "nats",
    Logistic: "nats",
    Squared: "variance of the target",
    Huber: "variance of the target",
}


def name_of(measure: str) -> str:
    """A measure by the name that people know.

    >>> name_of("roc_auc"), name_of("average_precision")
    ('ROC AUC', 'average precision')
    """
    return NAMES.get(measure, measure.replace("_", " "))


def written(measure: str, value: float) -> str:
    """A value with as many digits as are of use.

    >>> written("accuracy", 0.8612), written("mae", 42119.7), written("worst_case_loss", 0.25), written("r2", -1e-9)
    ('86.1%', '42120', '0.2500', '0.000')
    """
    if math.isnan(value):
        return "not defined"
    if measure in PERCENT:
        return f"{value:.1%}"
    if measure in OWN_UNIT:
        return in_digits(value, 4)
    digits = 4 if measure.endswith("_loss") else 3
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no negative zero


def written_of(quality: TaskQuality, measure: str) -> str:
    """A measure of a task, written."""
    return written(measure, quality.values[measure])


def loss_unit(loss: Loss) -> str:
    """The unit of a loss; empty for a loss that is not the project's own."""
    return UNITS.get(type(loss), "")


def loss_label(units: Iterable[str]) -> str:
    """The label of an axis of losses: with the unit where all losses have the same.

    >>> loss_label(["nats", "nats"]), loss_label(["nats", "variance of the target"])
    ('loss [nats]', 'loss')
    """
    unit, *others = {*units} or {""}
    return f"loss [{unit}]" if unit and not others else "loss"
