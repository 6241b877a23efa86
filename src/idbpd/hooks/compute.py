"""Threads and determinism while a pipeline runs."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from idbpd.experiment.machine.computing import computing, threads_for
from idbpd.experiment.ranks.team import dismiss


class ComputeHook:
    """Applies the parameters ``compute`` to the process, and restores the old settings when the pipeline ends."""

    def __init__(self) -> None:
        """Nothing is set yet."""
        self._settings = ExitStack()
        self._most = 0  # threads, where the size of the data decides; 0: it does not

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read the parameters; `ConfigurationHook` checks them before they are used."""
        self._compute = context.config_loader["parameters"]["compute"]

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Set threads and determinism."""
        threads = self._compute["threads"]
        self._settings.enter_context(computing(threads, deterministic=self._compute["deterministic"]))
        self._most = torch.get_num_threads() if threads == "auto" else 0

    @hook_impl
    def before_node_run(self, inputs: Mapping[str, Any]) -> None:
        """Set as many threads as the data of this node are worth. OpenMP keeps the number for each thread apart: this
        is called in the one that runs the node.
        """
        if self._most:
            torch.set_num_threads(threads_for(inputs.values(), self._most))

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
