"""What a new model must pass before it replaces the one in use.

A new gate is a file in this folder and a line in `GATES`. Gates are asked, and shown, in this order.
"""

from typing import Any

from idbpd.pipelines.retraining.gates import (
    better_than_guess,
    feasible_train,
    holds_on_unseen,
    not_worse_than_champion,
    residual,
)
from idbpd.pipelines.retraining.gates.not_worse_than_champion import is_yardstick
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult

GATES: tuple[Gate[Any], ...] = (
    feasible_train.GATE,
    holds_on_unseen.GATE,
    better_than_guess.GATE,
    residual.GATE,
    not_worse_than_champion.GATE,
)

__all__ = ["GATES", "Evidence", "Gate", "GateOptions", "GateResult", "is_yardstick"]
