"""The certificate, the comparison and the figures, all computed from the saved weights."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(
    __name__, {"create_pipeline": "pipeline"}
)  # the parameters are checked before torch is imported
