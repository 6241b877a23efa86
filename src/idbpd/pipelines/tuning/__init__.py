"""The paper's grid over the step size gamma and the barrier alpha of Algorithm 1."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.tuning.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(
    __name__, {"create_pipeline": "pipeline"}
)  # the parameters are checked before torch is imported
