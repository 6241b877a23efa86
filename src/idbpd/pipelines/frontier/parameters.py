"""The parameters of a frontier."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from idbpd.experiment.parameters import ParameterBlock, Positive, listed

OWN, ALL = "own", "all"
Share = Annotated[float, Field(gt=0, lt=1)]


def _slacks(given: list[float]) -> list[float]:
    """From the tightest to the loosest, each once."""
    if not given:
        raise ValueError("name at least one slack, for example 0.05+0.1+0.2")
    for slack in given:
        if slack < 0:
            raise ValueError(f"{slack:g} is below 0: a task cannot be asked to be better than it could be on its own")
    return sorted(set(given))


def _priorities(given: Any) -> Any:
    found = listed(given)
    if not found:
        raise ValueError(f"choose {OWN}, {ALL}, or names of tasks with '+' between them")
    return found


class FrontierParameters(ParameterBlock):
    """Which limits are tried, which tasks have priority, and which fixed weights are next to them."""

    slacks: Annotated[list[float], BeforeValidator(listed), AfterValidator(_slacks)]
    priorities: Annotated[list[str], BeforeValidator(_priorities)]
    weights: Annotated[list[Share], BeforeValidator(listed), AfterValidator(sorted)]
    residual_limit: Positive
