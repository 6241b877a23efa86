"""How much weight decay: the number that was given, or the one that unseen data speak for."""

from idbpd.pipelines.weight_decay.pipeline import create_pipeline

__all__ = ["create_pipeline"]
