"""One of several models of a run, each of which is tracked by itself."""

from typing import Any, NamedTuple


class TrackedPoint(NamedTuple):
    """The results of a model by name, and the tags that tell it from the other models of the same run."""

    tags: dict[str, str]
    results: dict[str, Any]
