"""Train with the weight decays of a grid that are worth trying, and measure each on the validation part."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.experiment.machine.devices import resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import (
    ModelParameters,
    ProblemSettings,
    Seed,
    WeightDecaySearchParameters,
)
from idbpd.experiment.problem import BuiltProblem, Experiment, criteria_of, weights_of
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.records.provenance import code_sha256, surroundings, tensors_sha256
from idbpd.experiment.solving.progress import Progress
from idbpd.experiment.splitting.fingerprint import parts_sha256
from idbpd.experiment.splitting.validation import Parts
from idbpd.mtl import Criteria, guess_loss, sample_losses
from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks
from idbpd.optim import IDBPD, Status, solve
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose, explore

# The code that decides the result of a weight decay, beside the solver's.
OWN_CODE = (
    "pipelines/weight_decay/candidate.py",
    "pipelines/weight_decay/search.py",
)

# Where a solve starts from the weights of a neighbour, it gets this part of the steps.
WARM = 3
# The number that would be chosen is trained for up to so many times more steps, and measured again.
LONGER = 4
# A limited task counts at least so much in a search, as a share of a guess's loss: one with a limit is never nothing.
LEAST_SHARE = 0.3
# Blocks of validation samples by which the chance in a score is estimated.
BLOCKS = 20


@dataclass(frozen=True)
class UnsettledExperiment(Bundle):
    """An experiment whose weight decay may still have to be chosen."""

    model: ModelParameters
    problem: ProblemSettings
    compute: ComputeParameters
    seed: Seed
    fingerprint: dict[str, str]  # of the data and their split

    def settled(self, weight_decay: float, fingerprint: dict[str, str]) -> Experiment:
        """The experiment with this weight decay, on the data of this fingerprint."""
        problem = self.problem.with_weight_decay(weight_decay)
        return Experiment(self.model, problem, self.compute, self.seed, fingerprint)


class Result(NamedTuple):
    """A candidate, and the weights of its model."""

    candidate: Candidate
    weights: dict[str, Tensor]


@dataclass(frozen=True)
class Search:
    """The search for a weight decay on the parts of a training part; results are kept in a cache.

    The first number is tried from the initial weights. Every other one starts from the weights of its neighbour and
    needs fewer steps, unless the neighbour learnt nothing: a large decay draws weights to zero, and a solve with a
    smaller decay does not get away from there.

    A model that is stopped early looks better than it will be: it has not learnt the noise yet. So the number that
    would be chosen is trained on, and measured again, until the choice is one that was trained to the end.
    """

    parameters: WeightDecaySearchParameters
    parts: Parts
    unsettled: UnsettledExperiment
    tolerance: float
    cache: ContentStore | None

    def of(self, tasks: Sequence[str], together: "SearchResult | None" = None) -> "SearchResult":
        """The numbers of the grid that are worth a try for these tasks together.

        The search for a task alone begins where that of all tasks ``together`` ended.
        """
        if together is None:
            return SearchResult(self, tasks, {}, None)
        # The same decay is that much stronger for the task where it is trained with the others.
        scale = 1 / self.weights_of_tasks([task.name for task in self.parts.fit.tasks]).get(tasks[0], 1.0)
        known = {scale * number: result for number, result in together.results.items()}
        first = nearest(self.parameters.grid, scale * together.chosen.weight_decay)
        return SearchResult(self, tasks, known, first)

    def result(
        self, tasks: Sequence[str], weight_decay: float, start: dict[str, Tensor] | None, steps: int
    ) -> tuple[Result, bool]:
        """A model that was trained with this weight decay from ``start``, and whether an earlier run has made it."""
        experiment = self.unsettled.settled(weight_decay, {"split_sha256": self._sha256})
        made_with = {
            **experiment.made_with,
            **self._around,
            "tasks": list(tasks),
            "steps": steps,
            "first weights (SHA-256)": None if start is None else tensors_sha256(start),
        }
        stored = None if self.cache is None else self.cache.get(made_with)
        if stored is not None:
            return Result(Candidate(**stored.record), stored.tensors), True
        result = self._try(experiment, tasks, start, steps)
        if self.cache is not None:
            self.cache.put(made_with, result.candidate._asdict(), result.weights)
        return result, False

    def weights_of_tasks(self, tasks: Sequence[str]) -> dict[str, float]:
        """What each task counts in a search for several: as much as in training, so that a decay does the same there.

        There, the limit of a task gives it more weight than its share beyond the limit, where it binds.
        """
        first, guesses = tasks[0], self._guesses
        return {
            task: 1.0 if task == first else share * guesses[first] / guesses[task]
            for task, share in self._shares(tasks).items()
            if task == first or (guesses[first] > 0 and guesses[task] > 0)
        }

    def _shares(self, tasks: Sequence[str]) -> dict[str, float]:
        """The same of losses as shares of a guess's."""
        share = max(self.unsettled.problem.beyond_limits, LEAST_SHARE)
        return {task: 1.0 if task == tasks[0] else share for task in tasks}

    def _try(self, experiment: Experiment, tasks: Sequence[str], start: dict[str, Tensor] | None, steps: int) -> Result:
        """Train the tasks together, and measure them. One task alone is trained as it will be for its limit."""
        fit, problem = self.parts.fit, experiment.problem
        built = experiment.build(fit, tasks[0], {})
        criteria = criteria_of(problem)
        if len(tasks) > 1:
            built = built.of_weighted_sum(problem, self.weights_of_tasks(tasks), robust=True)
        weights = built.initial_weights if start is None else built.start_from(start)
        what = tasks[0] if len(tasks) == 1 else "all tasks"
        with Progress(f"weight decay {problem.weight_decay:g}, {what}", steps) as progress:
            solution = solve(
                built.oracle, weights, IDBPD(), max_steps=steps, tolerance=self.tolerance, callback=progress
            )
        weights = weights_of(solution)
        quality = built.quality(weights, self.parts.validation, criteria)
        candidate = Candidate(
            problem.weight_decay,
            {name: quality[name].worst_case_loss for name in tasks},
            {name: dict([quality[name].headline]) for name in tasks},
            {name: self._guesses_on_validation[name] for name in tasks},
            {name: self._pseudo_values(built, name, criteria) for name in tasks},
            self._shares(tasks),
            solution.status is not Status.MAX_STEPS,
        )
        return Result(candidate, weights)

    def _pseudo_values(self, built: BuiltProblem, task: str, criteria: Criteria) -> list[float]:
        """How much each block of validation samples moves the worst-case loss; none where one sample is all."""
        validation = built.here(self.parts.validation)
        losses = sample_losses(built.network, validation, criteria)[task]
        if len(losses) < 2:
            return []
        blocks = random_blocks(len(losses), most=BLOCKS)
        values: list[float] = pseudo_values(losses, criteria(validation[task]).worst_case, blocks).tolist()
        return values

    @cached_property
    def _guesses(self) -> dict[str, float]:
        criteria = criteria_of(self.unsettled.problem)
        return {task.name: guess_loss(task, criteria) for task in self.parts.fit.tasks}

    @cached_property
    def _guesses_on_validation(self) -> dict[str, float]:
        """The best constant answers to the samples to learn from, measured as the candidates are.

        An outlier in the validation part is as bad for a guess as for a model.
        """
        criteria, validation = criteria_of(self.unsettled.problem), self.parts.validation
        return {task.name: guess_loss(task, criteria, validation[task.name]) for task in self.parts.fit.tasks}

    @cached_property
    def _sha256(self) -> str:
        return parts_sha256(*self.parts)

    @cached_property
    def _around(self) -> dict[str, Any]:
        network = build_network(self.unsettled.model, self.parts.fit, self.unsettled.seed)
        return {
            **surroundings(resolve_device(self.unsettled.compute.device), network),
            "search code (SHA-256)": code_sha256(parts=OWN_CODE),
            "tolerance": self.tolerance,
        }


class SearchResult:
    """What a search has tried by now, and its choice."""

    def __init__(
        self, search: Search, tasks: Sequence[str], known: Mapping[float, Result], first: float | None
    ) -> None:
        """``known`` are models to start from, by weight decay; ``first`` is tried first (None: the middle)."""
        self._search, self._tasks, self._known, self._first = search, tasks, known, first
        self.results: dict[float, Result] = {}
        self.made = 0  # models
        self.kept = 0  # of them, those that an earlier run had made
        self.chosen = self.chosen_by(choose)

    @property
    def candidates(self) -> list[Candidate]:
        """All that are worth a try, by weight decay: each is tried once."""
        return explore(self._search.parameters.grid, self._attempt, self._first)

    @property
    def chosen_weights(self) -> dict[str, Tensor]:
        """The weights of the best of the candidates."""
        return self.results[self.chosen.weight_decay].weights

    def chosen_by(self, choice: Callable[[Sequence[Candidate]], Candidate]) -> Candidate:
        """The candidate that a rule chooses, trained to the end."""
        while True:
            chosen = choice(self.candidates)
            if chosen.is_done:
                return chosen
            self._train_on(chosen.weight_decay)

    def _attempt(self, weight_decay: float) -> Candidate:
        if weight_decay not in self.results:
            start = _neighbour(self.results or self._known, weight_decay)
            most = self._search.parameters.max_steps
            self._make(weight_decay, start, most if start is None else math.ceil(most / WARM))
        return self.results[weight_decay].candidate

    def _train_on(self, weight_decay: float) -> None:
        self._make(weight_decay, self.results[weight_decay].weights, LONGER * self._search.parameters.max_steps)
        candidate, weights = self.results[weight_decay]
        self.results[weight_decay] = Result(candidate._replace(is_done=True), weights)

    def _make(self, weight_decay: float, start: dict[str, Tensor] | None, steps: int) -> None:
        self.results[weight_decay], kept = self._search.result(self._tasks, weight_decay, start, steps)
        self.made += 1
        self.kept += kept


def nearest(grid: Sequence[float], number: float) -> float:
    """The number of a grid that is the fewest times larger or smaller; of two, the larger."""
    positive = [one for one in grid if one > 0]
    if number == 0 or not positive:
        return min(grid)
    return min(positive, key=lambda one: (abs(math.log(one / number)), -one))


def _neighbour(reached: Mapping[float, Result], weight_decay: float) -> dict[str, Tensor] | None:
    """The weights of the nearest number that was tried; None where there is none, or it learnt nothing."""
    if not reached:
        return None
    candidate, weights = reached[min(reached, key=lambda tried: abs(tried - weight_decay))]
    return weights if candidate.score < GUESSING else None
