"""A trained model with the names of its features and labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from idbpd.mtl.network import LabelProbabilities


@dataclass(frozen=True)
class ExportedModel:
    """What others need to use a model: network and scaling, the names of features and labels, an example."""

    network: LabelProbabilities
    features: tuple[str, ...]
    tasks: Mapping[str, tuple[str, ...]]  # the labels of each task, in the order of the network's heads
    example: Tensor  # a few rows of raw features

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output columns, in their order: ``task:label``."""
        return tuple(f"{task}:{label}" for task, labels in self.tasks.items() for label in labels)
