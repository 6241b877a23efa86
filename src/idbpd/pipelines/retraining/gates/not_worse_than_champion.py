"""The priority task is not worse than that of the model in use."""

from typing import Annotated

from pydantic import Field

from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult, at_most

NAME = "not_worse_than_champion"


class Options(GateOptions):
    """By which share it may be worse, and whether a champion that cannot be compared is an obstacle."""

    margin: Annotated[float, Field(ge=0)] = 0.05
    accept_other_tasks: bool = False


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """The worst-case loss of the priority task, both measured on the same test part."""
    loss, champion = evidence.held_out[evidence.priority], evidence.champion
    if champion["version"] is None:
        return [GateResult(NAME, loss, None, True, "there is no champion yet")]
    if champion["priority_loss"] is None:
        return [GateResult(NAME, loss, None, options.accept_other_tasks, str(champion["reason"]))]
    note = (
        f"worst-case loss of the priority task, test; version {champion['version']} has {champion['priority_loss']:.4f}"
    )
    return [at_most(NAME, loss, champion["priority_loss"] * (1 + options.margin), note)]


GATE = Gate(Options, check)
