"""What a new model must pass before it replaces the one in use.

A new gate is a file in this folder and a line in `GATES`. Gates are asked, and shown, in this order.
"""

from typing import Any

from idbpd.pipelines.retraining.gates import feasible_held_out, feasible_train, not_worse_than_champion, residual
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult

GATES: tuple[Gate[Any], ...] = (
    feasible_train.GATE,
    feasible_held_out.GATE,
    residual.GATE,
    not_worse_than_champion.GATE,
)

__all__ = ["GATES", "Evidence", "Gate", "GateOptions", "GateResult"]
