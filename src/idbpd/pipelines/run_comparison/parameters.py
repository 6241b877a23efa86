"""Which runs are compared."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StrictStr

from idbpd.experiment.parameters import ParameterBlock, listed

MOST = 10  # more curves cannot be told apart


class CompareParameters(ParameterBlock):
    """One of the first three says what to compare."""

    runs: Annotated[list[StrictStr], BeforeValidator(listed), Field(max_length=MOST)]
    dataset: str | None
    models: str | None
    last: Annotated[int, Field(ge=2, le=MOST)]
