"""Delete checkpoints after success."""

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idbpd.datasets import FolderDataset


class CheckpointHook:
    """Cleans the checkpoint folders of the catalog when the whole pipeline has succeeded."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """All results are saved, so the checkpoints are no longer needed."""
        for name in sorted(pipeline.inputs()):
            dataset = catalog.get(name)
            if isinstance(dataset, FolderDataset):
                dataset.run_succeeded()
