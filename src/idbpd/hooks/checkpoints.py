"""Delete checkpoints after success."""

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idbpd.experiment.solving.checkpoint_entries import clear_checkpoints


class CheckpointHook:
    """Clears the checkpoint folders of a pipeline once the whole pipeline has succeeded."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """All results are saved: the states that led to them are not needed any more."""
        clear_checkpoints(catalog.get(name) for name in sorted(pipeline.inputs()))
