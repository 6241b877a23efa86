"""What a stored result was made with, so that a run that begins in the middle does not mix two problems."""

from collections.abc import Mapping
from typing import Any

from idbpd.errors import ConfigurationError
from idbpd.pipelines.parameters import ModelParameters, ProblemParameters


def settings(
    model: ModelParameters, problem: ProblemParameters, seed: int, fingerprint: Mapping[str, str]
) -> dict[str, Any]:
    """All that decides which problem is solved, by the names that people set."""
    return {
        "model.hidden": model.hidden,
        "problem.lambda": problem.regularisation,
        "problem.weight_decay": problem.weight_decay,
        "seed": seed,
        "data and split (SHA-256)": fingerprint["split_sha256"],
    }


def require_same(made_with: Mapping[str, Any], now: Mapping[str, Any], result: str, node: str) -> None:
    """Raise a `ConfigurationError` when ``result`` was made with other settings than ``now`` by the node ``node``."""
    for name, value in now.items():
        if made_with.get(name) != value:
            raise ConfigurationError(
                f"the stored {result} was made with {name} = {made_with.get(name)!r}, this run has {value!r}; "
                f"make it again: kedro run --from-nodes {node}"
            )
