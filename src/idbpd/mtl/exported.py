"""A trained model with all that others need to use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.kinds import Meaning
from idbpd.mtl.network import AnswerNetwork


@dataclass(frozen=True)
class AnsweredTask:
    """How a model answers to a task: by a value, by a probability per output, or by both."""

    name: str
    outputs: tuple[str, ...]
    meaning: Meaning

    @classmethod
    def of(cls, task: Task) -> "AnsweredTask":
        """The way a model that was trained on this task answers."""
        return cls(task.name, task.labels, task.meaning)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of its answer, in their order.

        >>> AnsweredTask("income", (">50K",), Meaning("binary", other="<=50K")).columns
        ('income', 'income:>50K')
        """
        valued = self.meaning.kind in ("binary", "classes")
        return (self.name, *self.output_columns) if valued else self.output_columns

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The columns with a number for each output of the network."""
        if self.meaning.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}:{output}" for output in self.outputs)


@dataclass(frozen=True)
class ExportedModel:
    """What others need to use a model: from the raw columns of a table to answers in the words of its tasks."""

    network: AnswerNetwork
    encoding: Mapping[str, Any]  # how raw columns become features
    tasks: tuple[AnsweredTask, ...]  # in the order of the network's heads
    features: Tensor  # two rows, encoded
    example: Sequence[Mapping[str, Any]]  # two rows, raw
    identifiers: tuple[str, ...] = ()  # columns that are no features, and are repeated beside the answers
