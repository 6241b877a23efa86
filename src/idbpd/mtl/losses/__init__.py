"""Losses by the names that people choose them by. A new loss is a file in this folder and a line in `LOSSES`.

The first loss in the list that is for a task's kind is the default of that kind.
"""

from typing import Any

from idbpd.mtl.kinds import Kind
from idbpd.mtl.losses.cross_entropy import CrossEntropy
from idbpd.mtl.losses.huber import Huber
from idbpd.mtl.losses.logistic import Logistic
from idbpd.mtl.losses.protocol import Loss
from idbpd.mtl.losses.squared import Squared

LOSSES: dict[str, Any] = {  # classes that follow the protocol `Loss`
    "cross_entropy": CrossEntropy,
    "logistic": Logistic,
    "squared": Squared,
    "huber": Huber,
}


def default_loss(kind: Kind) -> str:
    """The name of the loss that a task of this kind has unless another one is chosen.

    >>> default_loss("binary")
    'logistic'
    """
    return next(name for name, loss in LOSSES.items() if kind in loss.kinds)


__all__ = ["LOSSES", "CrossEntropy", "Huber", "Logistic", "Loss", "Squared", "default_loss"]
