"""A problem whose samples are on ranks: what the solver asks goes there, and comes back as numbers."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.ranks.link import Message, Word
from idbpd.experiment.ranks.sent_moments import from_message
from idbpd.experiment.ranks.team import Team, team_of
from idbpd.experiment.records.provenance import network_sha256
from idbpd.mtl import MultiTaskData
from idbpd.mtl.layer_moments import Moments
from idbpd.mtl.sharded import deal

T = TypeVar("T")
_asking = threading.Lock()  # two threads of a run must not talk at once


class RemoteProblem:
    """A network and data on ranks; the terms of one problem after the other are asked of them."""

    def __init__(
        self,
        data: MultiTaskData,
        network: nn.Module,
        model: ModelParameters,
        problem: ProblemParameters,
        compute: ComputeParameters,
        seed: int,
    ) -> None:
        """Check that the samples suffice for so many ranks, before any is started."""
        self._wanted = compute.distributed
        try:
            deal(data.tasks, len(data.features), self._wanted.ranks)
        except ValueError as error:
            raise ConfigurationError(f"compute.distributed: {error}") from error
        self._data = data
        self._facts = {
            "model": model.model_dump(mode="json"),
            "problem": problem.model_dump(mode="json", by_alias=True),
            "network_sha256": network_sha256(type(network)),
            "dtype": compute.dtype,
            "device": compute.device,
            "threads": 1 if compute.threads == "auto" else compute.threads,  # a rank is for a core
            "deterministic": compute.deterministic,
            "seed": seed,
        }

    def terms(self, tasks: Sequence[str], *, mean: bool = False) -> "RemoteTerms":
        """The worst cases of these tasks, or their mean losses."""
        return RemoteTerms(team_of(self._wanted), self._data, {**self._facts, "tasks": list(tasks), "mean": mean})


class RemoteTerms:
    """The terms of one problem, from the ranks that have its samples."""

    def __init__(self, team: Team, data: MultiTaskData, facts: dict[str, Any]) -> None:
        """Nothing is asked yet."""
        self._team, self._data, self._facts = team, data, facts
        self._count = len(facts["tasks"])
        self._posed_to = -1  # which ranks know the problem
        self._at: tuple[int, Tensor] | None = None  # which ranks were at which point last

    def values(self, x: Tensor) -> Tensor:
        """The ranks evaluate together; if some are lost meanwhile, their replacements do."""
        with _asking:
            return self._until_answered(self._values, x)

    def gradients(self, x: Tensor) -> Tensor:
        """As `values`; ranks that were not at this point last go there first."""
        with _asking:
            return self._until_answered(self._gradients, x)

    def moments_of_features(self, x: Tensor) -> Moments:
        """The moments of the layers that take features."""
        with _asking:
            return self._until_answered(self._features, x)

    def moments(self, x: Tensor, factors: Sequence[float]) -> Moments:
        """As `gradients`."""
        with _asking:
            return self._until_answered(lambda point: self._moments(point, factors), x)

    def _until_answered(self, question: Callable[[Tensor], T], x: Tensor) -> T:
        while True:
            # Lost ranks are replaced and asked again. If they cannot be replaced, another error is raised.
            with suppress(ConnectionError):
                return question(x)

    def _values(self, x: Tensor) -> Tensor:
        self._pose()
        answer = self._team.ask(Message(Word.VALUES, content=_point(x)))
        self._at = self._team.generation, x
        return torch.frombuffer(bytearray(answer.content), dtype=torch.float64)

    def _gradients(self, x: Tensor) -> Tensor:
        self._go_to(x)
        answer = self._team.ask(Message(Word.GRADIENTS))
        flat = torch.frombuffer(bytearray(answer.content), dtype=x.dtype)
        return flat.view(self._count, -1).to(x.device)

    def _features(self, x: Tensor) -> Moments:
        self._pose()
        return from_message(self._team.ask(Message(Word.FEATURES, content=_point(x))), x.device)

    def _moments(self, x: Tensor, factors: Sequence[float]) -> Moments:
        self._go_to(x)
        return from_message(self._team.ask(Message(Word.MOMENTS, {"factors": list(factors)})), x.device)

    def _go_to(self, x: Tensor) -> None:
        """Let the ranks evaluate a point, unless they were there last."""
        if not self._is_current or self._at is None or self._at[0] != self._team.generation or self._at[1] is not x:
            self._values(x)

    @property
    def _is_current(self) -> bool:
        return self._posed_to == self._team.generation and self._team.answering is self

    def _pose(self) -> None:
        """Say which problem it is, unless the ranks have it already."""
        if not self._is_current:
            self._team.answering = None
            path, sha256 = self._team.shared.put(self._data)
            where = {"data": str(path), "data_sha256": sha256, "data_bytes": path.stat().st_size}
            self._team.ask(Message(Word.PROBLEM, {**self._facts, **where}))
            self._posed_to, self._team.answering = self._team.generation, self


def _point(x: Tensor) -> bytes:
    return x.detach().cpu().contiguous().numpy().tobytes()
