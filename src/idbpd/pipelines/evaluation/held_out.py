"""Whether the limits hold on data that the model never saw."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from idbpd.mtl import Criteria, MultiTaskData, sample_losses, worst_case_upper_bound

CONFIDENCE = 0.95
# Fixed, and not the seed of a run: runs that differ in their seed are compared by the same draws.
BOOTSTRAP_SEED = 0


def check_held_out(
    network: nn.Module, test: MultiTaskData, thresholds: Mapping[str, float], criteria: Criteria
) -> dict[str, Any]:
    """The worst-case loss of every constraint task on the test part, its upper bound, and yes or no.

    A limit holds when the measured worst case is at most the threshold. The bound says how much of that is luck: the
    worst case on another such test part stays below it, with the stated confidence.
    """
    losses = sample_losses(network, test, criteria)
    tasks = {}
    for name, threshold in thresholds.items():
        criterion = criteria(test[name])
        value = criterion.worst(losses[name]).value.item()
        bound = worst_case_upper_bound(losses[name], criterion.worst_case, confidence=CONFIDENCE, seed=BOOTSTRAP_SEED)
        tasks[name] = {
            "worst_case_loss": value,
            "upper_bound": bound,
            "threshold": threshold,
            "holds": value <= threshold,
        }
    return {
        "part": "test",
        "confidence": CONFIDENCE,
        "holds": all(task["holds"] for task in tasks.values()),
        "tasks": tasks,
    }
