"""A problem as one rank has it: its samples, its part of the worst cases, and the checks before it computes."""

import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from idbpd.datasets.task_file import load_tasks
from idbpd.errors import DataError
from idbpd.experiment.network import build_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.ranks.shared_data import file_sha256
from idbpd.experiment.records.provenance import network_sha256
from idbpd.mtl import Criteria, Criterion, MultiTaskData
from idbpd.mtl.layer_moments import Moments
from idbpd.mtl.sharded import Ranks, Shard, ShardedTerms, deal, shard_of
from idbpd.mtl.worst_cases import Mean

NODE = socket.gethostname()
DATA_KEPT = 2  # how many tables a rank keeps: a search goes back and forth between few


class Posed(NamedTuple):
    """A problem that a rank answers for."""

    terms: ShardedTerms
    dtype: torch.dtype
    device: torch.device

    def values(self, point: bytes) -> Tensor:
        """The worst cases at a point."""
        return self.terms.values(self._received(point))

    def moments_of_features(self, point: bytes) -> Moments:
        """The moments of the features, with the weights of a point."""
        return self.terms.moments_of_features(self._received(point).to(self.device))

    def _received(self, point: bytes) -> Tensor:
        return torch.frombuffer(bytearray(point), dtype=self.dtype)


class Poser:
    """Makes problems from what the run says of them."""

    def __init__(self, *, is_home: bool) -> None:
        """On the machine of the run its files need no check: they are the very same."""
        self._is_home = is_home
        self._shards = lru_cache(maxsize=DATA_KEPT)(self._load)

    def pose(self, facts: Mapping[str, Any], device: torch.device) -> Posed:
        """The problem; an `InputError` or a ValueError says why this rank cannot have it."""
        whole, shard = self._shards(facts["data"], facts["data_sha256"], facts["data_bytes"])
        dtype = getattr(torch, facts["dtype"])
        network = build_network(ModelParameters(**facts["model"]), shard.data, facts["seed"])
        found = network_sha256(type(network))
        if found != facts["network_sha256"]:
            raise DataError(f"model.type {facts['model']['type']} is other code on {NODE} than in the run (SHA-256)")
        here = Shard(shard.data.to(device, dtype), shard.positions)
        criteria = criteria_of(ProblemParameters(**facts["problem"]))
        if facts["mean"]:
            criteria = _means(criteria)
        terms = ShardedTerms(network.to(device, dtype), whole, here, facts["tasks"], criteria, Ranks())
        return Posed(terms, dtype, device)

    def _load(self, path: str, sha256: str, size: int) -> tuple[MultiTaskData, Shard]:
        if not Path(path).exists():
            where = "compute.distributed.folder must be a folder that all nodes have"
            raise DataError(f"{path} is not on {NODE}; {where}")
        found = Path(path).stat().st_size
        if found != size:
            raise DataError(f"{path} has {found} bytes on {NODE}, in the run {size}; is a disk full there?")
        if not self._is_home and file_sha256(Path(path)) != sha256:
            raise DataError(f"{path} on {NODE} has other data than that of the run (SHA-256)")
        whole = load_tasks(Path(path))
        owner = deal(whole.tasks, len(whole.features), dist.get_world_size())
        return whole, shard_of(whole, owner, dist.get_rank())


def _means(criteria: Criteria) -> Criteria:
    return lambda task: Criterion(criteria(task).loss, Mean())
