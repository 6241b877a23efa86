"""Samples on several ranks against the same samples in one process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from idbpd.mtl import (
    Criteria,
    Criterion,
    CrossEntropy,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    SharedNetwork,
    Task,
    WorstCase,
    seeded_network,
    worst_case_for,
)
from idbpd.mtl.layer_moments import Moments
from idbpd.mtl.sharded import ShardedProblem, ShardedTerms, deal, shard_of
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.mtl.worst_cases import ChiSquare, Groups, KullbackLeibler, Mean, NeedsTask, Share
from idbpd.optim.initial_metric import InitialMetric
from tests.mtl.sharded.threads import ThreadRank, on_ranks

ROWS, FEATURES = 400, 6


@dataclass(frozen=True)
class _OnlyTheWorst:
    """A worst case of which nothing is known but its maximiser."""

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:
        return torch.nn.functional.one_hot(losses.argmax(dim=-1), losses.shape[-1]).to(losses)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:
        return 0.25 * weights.square().sum(dim=-1)

    def protects(self, task: str, size: int) -> str:
        return ""


CASES: dict[str, WorstCase | NeedsTask] = {
    "share": Share(0.3),
    "whole share": Share(1.0),
    "tight share": Share(0.05, 1e-6),
    "penalty": Penalty(0.1),
    "sparse penalty": Penalty(1e-4),
    "chi2": ChiSquare(0.5),
    "small chi2": ChiSquare(1e-6),
    "chi2 of a few": ChiSquare(30.0),
    "chi2 of one": ChiSquare(1000.0),
    "kl": KullbackLeibler(0.5),
    "small kl": KullbackLeibler(1e-6),
    "kl of one": KullbackLeibler(100.0),
    "mean": Mean(),
    "groups": Groups("g"),
    "own": _OnlyTheWorst(),
}


@pytest.fixture
def data() -> MultiTaskData:
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(ROWS, FEATURES, dtype=torch.float64, generator=generator)

    def task(name: str, rows: Tensor, classes: int) -> Task:
        targets = torch.rand(len(rows), classes, dtype=torch.float64, generator=generator)
        groups = torch.randint(0, 4, (len(rows),), generator=generator)
        labels = tuple(f"{name} {index}" for index in range(classes))
        made = Task(name, labels, rows, targets / targets.sum(dim=1, keepdim=True))
        return replace(made, groups=groups, group_names=("a", "b", "c", "none", "d")[:4])

    return MultiTaskData(features, (task("first", torch.arange(300), 3), task("second", torch.arange(150, ROWS), 2)))


def _criteria(case: WorstCase | NeedsTask) -> Criteria:
    return lambda task: Criterion(CrossEntropy(), worst_case_for(task, case))


def _network(data: MultiTaskData) -> SharedNetwork:
    return seeded_network(FEATURES, 5, data.classes, seed=1).double()


def _x(network: SharedNetwork) -> Tensor:
    return 3 * torch.nn.utils.parameters_to_vector(network.parameters()).detach()


def _sharded(
    data: MultiTaskData, ranks: int, case: WorstCase | NeedsTask, *, gathered: bool = False
) -> list[tuple[Tensor, Tensor]]:
    network, owner = _network(data), deal(data.tasks, ROWS, ranks)

    def work(rank: int, over: ThreadRank) -> tuple[Tensor, Tensor]:
        shard = shard_of(data, owner, rank)
        terms = ShardedTerms(network, data, shard, ("first", "second"), _criteria(case), over, gathered=gathered)
        return terms.values(_x(network)), terms.gradients()

    return on_ranks(ranks, work)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("gathered", [False, True], ids=["by sums", "gathered"])
def test_worst_cases_over_ranks_are_those_of_one_process(
    data: MultiTaskData, case: WorstCase | NeedsTask, ranks: int, gathered: bool
) -> None:
    network = _network(data)
    thresholds = {"second": 0.0}
    alone = RobustMultiTask(network, data, objective="first", thresholds=thresholds, criteria=_criteria(case))
    x = _x(network)
    evaluation = alone.evaluate(x, alone.start(x))
    gradients = alone.differentiate(evaluation)
    for values, slopes in _sharded(data, ranks, case, gathered=gathered):
        # A radius of 1e-6 is a difference of nearly equal numbers: its weights have fewer digits, its value has all.
        torch.testing.assert_close(values, torch.stack([evaluation.f, evaluation.g[0]]), rtol=2e-14, atol=0.0)
        torch.testing.assert_close(slopes, gradients.rows, rtol=1e-9, atol=1e-11)


@dataclass
class _OfOneRank:
    """The terms of one rank, as the solver's process asks for them."""

    terms: ShardedTerms

    def values(self, x: Tensor) -> Tensor:
        return self.terms.values(x)

    def gradients(self, x: Tensor) -> Tensor:
        return self.terms.gradients()

    def moments_of_features(self, x: Tensor) -> Moments:
        return self.terms.moments_of_features(x)

    def moments(self, x: Tensor, factors: Sequence[float]) -> Moments:
        return self.terms.moments(factors)


@pytest.mark.parametrize("rows_of_no_task", [0, 290], ids=["all rows", "rows of tasks alone"])
def test_the_metric_over_ranks_is_that_of_one_process(data: MultiTaskData, rows_of_no_task: int) -> None:
    more = torch.ones(rows_of_no_task, FEATURES, dtype=torch.float64)
    data = MultiTaskData(torch.cat([data.table, more]), data.tasks)
    network, criteria, decay = _network(data), _criteria(Share(0.3)), 0.01
    alone = RobustMultiTask(
        network, data, objective="first", thresholds={"second": 0.1}, criteria=criteria, weight_decay=decay
    )
    x, multipliers = _x(network), torch.tensor([0.7], dtype=torch.float64)
    evaluation = alone.evaluate(x, alone.start(x))
    expected = [alone.initial_metric(x), alone.metric_at(evaluation, multipliers)]
    owner = deal(data.tasks, len(data.features), 3)

    def work(rank: int, over: ThreadRank) -> list[InitialMetric | None]:
        own = _network(data)  # threads must not watch each other's layers
        shard = shard_of(data, owner, rank)
        terms = _OfOneRank(ShardedTerms(own, data, shard, ("first", "second"), criteria, over))
        oracle = ShardedProblem(terms, (1.0, 0.0), [0.1], WeightDecay(decay), own)
        evaluated = oracle.evaluate(x, oracle.start(x))
        return [oracle.initial_metric(x), oracle.metric_at(evaluated, multipliers)]

    every = torch.eye(len(x), dtype=torch.float64)
    for found in on_ranks(3, work):
        for one, other in zip(found, expected, strict=True):
            assert one is not None
            assert other is not None
            torch.testing.assert_close(one.apply(every), other.apply(every), rtol=1e-10, atol=1e-12)


def test_all_ranks_have_the_same_bytes(data: MultiTaskData) -> None:
    first, *others = _sharded(data, 4, Share(0.3))
    for other in others:
        assert torch.equal(first[0], other[0])
        assert torch.equal(first[1], other[1])


@pytest.mark.parametrize(("gathered", "most"), [(False, 15), (None, 1)], ids=["by sums", "few samples"])
def test_few_messages_find_a_threshold(data: MultiTaskData, gathered: bool | None, most: int) -> None:
    network, owner = _network(data), deal(data.tasks, ROWS, 2)

    def work(rank: int, over: ThreadRank) -> int:
        shard, criteria = shard_of(data, owner, rank), _criteria(Share(0.8))
        terms = ShardedTerms(network, data, shard, ("first", "second"), criteria, over, gathered=gathered)
        terms.values(_x(network))
        before = over.messages
        terms.gradients()
        assert over.messages == before + 1  # the gradients of all tasks in one
        return before

    assert max(on_ranks(2, work)) <= most
