"""Write down what nodes warn of, for the report."""

import logging
import threading

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from idbpd.experiment.records.node_warnings import BEFORE, NodeWarnings

ENTRY = "node_warnings"
PACKAGE = "idbpd"


class WarningsHook:
    """Keeps the warnings of each node in the folder of the catalog entry ``node_warnings``, if a pipeline reads it."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._handler: _Keeper | None = None

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Listen from now on: hooks that come after this one open the store, and a retraining reads the table."""
        self._stop()
        if ENTRY in pipeline.inputs():
            self._handler = _Keeper(catalog.load(ENTRY))
            self._handler.begin(BEFORE)
            logging.getLogger(PACKAGE).addHandler(self._handler)

    @hook_impl
    def before_dataset_loaded(self, node: Node) -> None:
        """A node begins with its inputs, and reading a table may give warnings too."""
        self._begin(node)

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """A node begins that has no inputs, or whose inputs other threads have loaded."""
        self._begin(node)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Listen no longer."""
        self._stop()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Listen no longer."""
        self._stop()

    def _begin(self, node: Node) -> None:
        if self._handler is not None:
            self._handler.begin(node.name)

    def _stop(self) -> None:
        if self._handler is not None:
            logging.getLogger(PACKAGE).removeHandler(self._handler)
            self._handler = None


class _Keeper(logging.Handler):
    """A log handler that knows which node each thread runs."""

    def __init__(self, store: NodeWarnings) -> None:
        super().__init__(logging.WARNING)
        self._store = store
        self._running = threading.local()
        self._begun: set[str] = set()

    def begin(self, node: str) -> None:
        """Note that this thread runs the node from now on; the first time, its earlier warnings are forgotten."""
        self._running.node = node
        with self.lock or threading.RLock():
            if node not in self._begun:
                self._begun.add(node)
                self._store.begin(node)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning of a node."""
        node = getattr(self._running, "node", None)
        if node is not None:
            self._store.add(node, record.getMessage(), record.created)
