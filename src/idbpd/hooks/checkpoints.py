"""What was kept for the case that a run does not come to its end goes when it has."""

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idbpd.datasets import FolderDataset


class CheckpointHook:
    """Clears the folders of the catalog that say so, once the whole pipeline has succeeded."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """All results are saved: the states that led to them are not needed any more."""
        for name in sorted(pipeline.inputs()):
            dataset = catalog.get(name)
            if isinstance(dataset, FolderDataset):
                dataset.run_succeeded()
