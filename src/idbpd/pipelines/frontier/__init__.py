"""What the priority task gains as the limits of the others are relaxed: a certified model at every step."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.frontier.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(
    __name__, {"create_pipeline": "pipeline"}
)  # the parameters are checked before torch is imported
