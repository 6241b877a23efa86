"""A hook that is imported when Kedro first calls it."""

import importlib
import inspect
from functools import cached_property
from typing import Any

from kedro.framework.hooks import hook_impl


class DeferredHook:
    """Stands for the hook ``name`` of ``module``, and passes every call on to it.

    Kedro makes the hooks before it knows what the command is. Those of this project import torch and MLflow, for
    seconds in which a mistyped command would wait for its error message.
    """

    def __init__(self, module: str, name: str) -> None:
        """Name the class of the hook."""
        self._module = module
        self._name = name

    @cached_property
    def hook(self) -> Any:
        """The hook itself."""
        return getattr(importlib.import_module(self._module), self._name)()

    @hook_impl
    def after_context_created(self, context: Any) -> None:
        """Pass it on."""
        self._pass_on("after_context_created", context=context)

    @hook_impl
    def after_catalog_created(self, catalog: Any) -> None:
        """Pass it on."""
        self._pass_on("after_catalog_created", catalog=catalog)

    @hook_impl
    def before_pipeline_run(self, run_params: Any, pipeline: Any, catalog: Any) -> None:
        """Pass it on."""
        self._pass_on("before_pipeline_run", run_params=run_params, pipeline=pipeline, catalog=catalog)

    @hook_impl
    def before_node_run(self, inputs: Any) -> None:
        """Pass it on."""
        self._pass_on("before_node_run", inputs=inputs)

    @hook_impl
    def after_pipeline_run(self, run_params: Any, pipeline: Any, catalog: Any) -> None:
        """Pass it on."""
        self._pass_on("after_pipeline_run", run_params=run_params, pipeline=pipeline, catalog=catalog)

    @hook_impl
    def on_pipeline_error(self, error: Any, run_params: Any, pipeline: Any, catalog: Any) -> None:
        """Pass it on."""
        self._pass_on("on_pipeline_error", error=error, run_params=run_params, pipeline=pipeline, catalog=catalog)

    def _pass_on(self, event: str, **arguments: Any) -> None:
        """Call the hook with the arguments that it takes, as Kedro does; most hooks do not have all events."""
        handler = getattr(self.hook, event, None)
        if handler is not None:
            taken = inspect.signature(handler).parameters
            handler(**{name: value for name, value in arguments.items() if name in taken})
