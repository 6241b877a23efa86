"""Threads and determinism while a pipeline runs."""

from contextlib import ExitStack

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from idbpd.experiment.machine.computing import computing
from idbpd.experiment.ranks.team import dismiss


class ComputeHook:
    """Applies the parameters ``compute`` to the process, and restores the old settings when the pipeline ends."""

    def __init__(self) -> None:
        """Nothing is set yet."""
        self._settings = ExitStack()

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read the parameters; `ConfigurationHook` checks them before they are used."""
        self._compute = context.config_loader["parameters"]["compute"]

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Set threads and determinism."""
        self._settings.enter_context(computing(self._compute["threads"], deterministic=self._compute["deterministic"]))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Restore the old settings, and let the ranks end."""
        dismiss()
        self._settings.close()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Restore the old settings, and let the ranks end."""
        dismiss()
        self._settings.close()
