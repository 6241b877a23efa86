"""A line now and then while a run works, where no terminal shows a bar: in a log, a pipe or a notebook."""

import logging
import sys
import threading
import time

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from idbpd.activity import duration, innermost

SECONDS = 10.0

logger = logging.getLogger(__name__)


class HeartbeatHook:
    """Says every `SECONDS` what is being done, how far it is, and how long it can take."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """Nothing runs yet."""
        self._seconds = seconds
        self._over = threading.Event()
        self._began, self._nodes, self._begun, self._node = 0.0, 0, 0, ""

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Begin, unless a person looks at a bar."""
        self._began, self._nodes, self._begun, self._node = time.monotonic(), len(pipeline.nodes), 0, ""
        if not sys.stderr.isatty():
            self._over = threading.Event()
            threading.Thread(target=self._beat, args=(self._over,), daemon=True).start()

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Remember what is done now; in other processes nobody asks."""
        self._begun += 1
        self._node = node.name

    @hook_impl
    def after_pipeline_run(self) -> None:
        """End."""
        self._over.set()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """End."""
        self._over.set()

    def _beat(self, over: threading.Event) -> None:
        while not over.wait(self._seconds):
            logger.info("%s", self._line())

    def _line(self) -> str:
        parts = [f"working for {duration(time.monotonic() - self._began)}"]
        if self._node:
            parts.append(f"{self._node.replace('_', ' ')} ({self._begun} of {self._nodes} stages)")
        now = innermost()
        if now is not None:
            parts.append(now.in_words())
        return ": ".join(parts)
