"""The parameters of a retraining: whether it goes on without a change, and the options of every gate."""

from typing import Any

from pydantic import create_model

from idbpd.pipelines.retraining.gates import GATES, GateOptions


def composed_options() -> Any:
    """A block that is the options of each gate, and so can be handed to each."""
    kinds = tuple(gate.options for gate in GATES if gate.options is not GateOptions)
    names = [name for kind in kinds for name in kind.model_fields]
    for name in names:
        if names.count(name) > 1:
            raise TypeError(f"two gates have an option {name!r}: retrain.{name} would set both")
    return create_model("_GateOptions", __base__=kinds or GateOptions)


_AllOptions: Any = composed_options()


class RetrainParameters(_AllOptions):  # type: ignore[misc]  # the fields are those of the gates
    """When a retraining goes on, and what its model must pass to replace the one in use."""

    force: bool = False
