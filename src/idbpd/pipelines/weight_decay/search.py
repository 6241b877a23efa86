"""Train with the weight decays of a grid that are worth trying, and measure each on the validation part."""

import math
from collections.abc import Mapping, Sequence
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
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose, explore

# The code that decides the result of a weight decay, beside the solver's.
OWN_CODE = (
    "pipelines/weight_decay/candidate.py",
    "pipelines/weight_decay/search.py",
)

# Where a solve starts from the weights of a neighbour, it gets this part of the steps.
WARM = 3
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


class SearchResult(NamedTuple):
    """The candidates, by weight decay, their weights, and how many of them an earlier run had tried."""

    candidates: list[Candidate]
    weights: dict[float, dict[str, Tensor]]  # by weight decay
    kept: int

    @property
    def by_number(self) -> dict[float, tuple[Candidate, dict[str, Tensor]]]:
        """Candidates and weights by weight decay."""
        return {one.weight_decay: (one, self.weights[one.weight_decay]) for one in self.candidates}

    @property
    def chosen(self) -> Candidate:
        """The best of the candidates."""
        return choose(self.candidates)

    @property
    def chosen_weights(self) -> dict[str, Tensor]:
        """The weights of the best of the candidates."""
        return self.weights[self.chosen.weight_decay]


@dataclass(frozen=True)
class Search:
    """The search for a weight decay on the parts of a training part; results are kept in a cache.

    The first number is tried from the initial weights. Every other one starts from the weights of its neighbour and
    needs fewer steps, unless the neighbour learnt nothing: a large decay draws weights to zero, and a solve with a
    smaller decay does not get away from there.
    """

    parameters: WeightDecaySearchParameters
    parts: Parts
    unsettled: UnsettledExperiment
    tolerance: float
    cache: ContentStore | None

    def of(self, tasks: Sequence[str], together: SearchResult | None = None) -> SearchResult:
        """The numbers of the grid that are worth a try for these tasks together.

        The search for a task alone begins where that of all tasks ``together`` ended.
        """
        fingerprint = {"split_sha256": self._sha256}
        kept: list[float] = []
        known = {} if together is None else together.by_number
        reached: dict[float, tuple[Candidate, dict[str, Tensor]]] = {}

        def attempt(weight_decay: float) -> Candidate:
            experiment = self.unsettled.settled(weight_decay, fingerprint)
            start = _neighbour(reached or known, weight_decay)
            steps = self.parameters.max_steps if start is None else math.ceil(self.parameters.max_steps / WARM)
            made_with = {
                **experiment.made_with,
                **self._around,
                "tasks": list(tasks),
                "steps": steps,
                "first weights (SHA-256)": None if start is None else tensors_sha256(start),
            }
            stored = None if self.cache is None else self.cache.get(made_with)
            if stored is not None:
                kept.append(weight_decay)
                reached[weight_decay] = Candidate(**stored.record), stored.tensors
            else:
                reached[weight_decay] = self._try(experiment, tasks, start, steps)
                if self.cache is not None:
                    candidate, weights = reached[weight_decay]
                    self.cache.put(made_with, candidate._asdict(), weights)
            return reached[weight_decay][0]

        first = None if together is None else together.chosen.weight_decay
        candidates = explore(self.parameters.grid, attempt, first)
        return SearchResult(candidates, {number: weights for number, (_, weights) in reached.items()}, len(kept))

    def _try(
        self, experiment: Experiment, tasks: Sequence[str], start: dict[str, Tensor] | None, steps: int
    ) -> tuple[Candidate, dict[str, Tensor]]:
        """Train the tasks together, so that their constant guesses count the same, and measure them.

        The priority task has the weight that it has in training: the same weight decay then does the same there. One
        task alone is trained as it will be for its limit.
        """
        fit, problem = self.parts.fit, experiment.problem
        built = experiment.build(fit, tasks[0], {})
        criteria = criteria_of(problem)
        first = self._guesses[tasks[0]]
        weights_of_tasks = {task: first / self._guesses[task] for task in tasks if self._guesses[task] > 0}
        if len(tasks) > 1 and first > 0:
            built = built.of_weighted_sum(problem, weights_of_tasks, robust=True)
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
        )
        return candidate, weights

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


def _neighbour(
    reached: Mapping[float, tuple[Candidate, dict[str, Tensor]]], weight_decay: float
) -> dict[str, Tensor] | None:
    """The weights of the nearest number that was tried; None where there is none, or it learnt nothing."""
    if not reached:
        return None
    candidate, weights = reached[min(reached, key=lambda tried: abs(tried - weight_decay))]
    return weights if candidate.score < GUESSING else None
