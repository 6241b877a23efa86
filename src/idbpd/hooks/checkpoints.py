"""Delete checkpoints after success."""

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idbpd.datasets import FolderDataset
from idbpd.experiment.checkpoints import CheckpointFolder


class CheckpointHook:
    """Clears the checkpoint folders of a pipeline once the whole pipeline has succeeded."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """All results are saved: the states that led to them are not needed any more."""
        for name in sorted(pipeline.inputs()):
            dataset = catalog.get(name)
            folder = dataset.load() if isinstance(dataset, FolderDataset) else None
            if isinstance(folder, CheckpointFolder):
                folder.run_succeeded()
