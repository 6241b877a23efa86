"""Parameters of the page of a benchmark."""

from typing import Annotated

from pydantic import Field

from idbpd.experiment.parameters import ParameterBlock


class ReportParameters(ParameterBlock):
    """Where the page goes."""

    to: Annotated[str, Field(min_length=1)]  # a folder; the catalog has the files in it
