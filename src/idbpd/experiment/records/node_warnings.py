"""The warnings of every node of the last run, so that a report can repeat them."""

import json
from pathlib import Path
from typing import NamedTuple

from idbpd.redaction import redact

SUFFIX = ".jsonl"
BEFORE = "before"  # in place of a node: what was said before the first one began


class NodeWarning(NamedTuple):
    """What a node said."""

    node: str
    message: str


class NodeWarnings:
    """A folder with a file per node. A run that begins later keeps the warnings of nodes that it does not repeat.

    Each node has a file of its own, because nodes may run at the same time in several processes.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made with the first warning."""
        self._folder = folder

    def begin(self, node: str) -> None:
        """Forget what the node said in an earlier run."""
        self._file(node).unlink(missing_ok=True)

    def add(self, node: str, message: str, moment: float) -> None:
        """Write a warning down, without secrets."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._file(node).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"moment": moment, "message": redact(message)}) + "\n")

    def all(self) -> list[NodeWarning]:
        """All warnings in the order in which they were given, each once.

        A retraining reads its table before the first node, to see whether it changed, and the node reads it again.
        """
        found = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                found.append((entry["moment"], NodeWarning(path.name.removesuffix(SUFFIX), entry["message"])))
        of_nodes = {warning.message for _, warning in found if warning.node != BEFORE}
        kept = (warning for _, warning in sorted(found) if warning.node != BEFORE or warning.message not in of_nodes)
        return list(dict.fromkeys(kept))

    def _file(self, node: str) -> Path:
        return self._folder / f"{node}{SUFFIX}"
