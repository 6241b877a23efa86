"""The first trial of the next search, evaluated before the host knows the numbers that it is made of.

A gradient is only asked for where a search has ended, and the next direction depends on it: a host that decides on both
waits twice per step, for the values of a trial and for the gradient. On an accelerator the next trial is therefore
computed there from a guess of its multipliers, and one wait brings its values with all that the gradient told. The host
then solves for the multipliers; where the guess was wrong the trial is dropped, at the price of its evaluation.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.oracle import Evaluation, Oracle, attempt
from idbpd.optim.quasi_newton.penalty_model import Proposal

_CORRECTIONS = 3  # of the guess which multipliers are positive; active sets rarely change by more
# Relative difference of the weights up to which a trial is the one that is asked for: two ways to solve one system
# differ by less, two active sets by more.
_AGREEMENT = 1e-9


class SpeculativeTrial(NamedTuple):
    """A trial that was evaluated before its search. Everything after the evaluation is on the host."""

    evaluation: Evaluation
    t: float
    weights: Tensor  # (1 + c,) of the gradients in its direction
    f: float
    g: Tensor
    moved: bool  # whether it differs from the point that it starts from
    is_open: bool  # whether an inner maximum wants more than could be done without waiting

    def is_trial(self, proposal: Proposal) -> bool:
        """Whether it is the trial that ``proposal`` asks for."""
        if self.t != proposal.t:
            return False
        difference, size = (self.weights - proposal.weights).abs().amax(), 1 + proposal.weights.abs().amax()
        return bool(difference <= _AGREEMENT * size)


class Forecast(NamedTuple):
    """What is known of the next search before the gradients where it starts are; tensors on the host."""

    oracle: Oracle
    t: float
    objective: float  # the weight of grad f
    g: Tensor  # (c,)
    margin: Tensor  # (c,) as in the model
    penalty: float  # mu, as it was: most often it stays
    budget: float  # mu, as it will be at most
    positive: Tensor  # (c,) which multipliers were positive in the last search

    def trial(self, here: Evaluation, rows: Tensor, gram: Tensor) -> tuple[Evaluation, Tensor]:
        """Evaluate the trial along ``rows``, and the weights that it was made with; nothing here waits."""
        weights = self._weights(gram)
        x = here.x + (-self.t * weights).to(rows) @ rows
        # Gradients that are not finite lead nowhere; functions need not bear a point that is not.
        x = torch.where(x.isfinite().all(), x, here.x)
        return attempt(self.oracle, x, here.maximisers), weights

    def _weights(self, gram: Tensor) -> Tensor:
        """The weights that `PenaltyModel.propose` will find, as far as they can be told here."""
        g = self.g.to(gram.device)
        plain = self._minimiser(gram, g)
        if not bool((self.margin > 0).any()):
            return plain
        inner = self._minimiser(gram, g + self.margin.to(gram.device))
        pays = self._reduction(gram, g, inner) >= 0.5 * self._reduction(gram, g, plain)
        return torch.where(pays, inner, plain)

    def _minimiser(self, gram: Tensor, values: Tensor) -> Tensor:
        Q, b = self.t * gram[1:, 1:], self.t * self.objective * gram[1:, 0] - values
        one = values.numel() <= 1
        z = (-b / Q.flatten()).nan_to_num(0.0).clamp(0.0, self.budget) if one else self._corrected(Q, b)
        return torch.cat([z.new_full((1,), self.objective), z])

    def _corrected(self, Q: Tensor, b: Tensor) -> Tensor:
        """The minimiser of 1/2 z'Qz + b'z, z >= 0, by primal-dual corrections of which are positive."""
        positive = self.positive.to(Q.device)
        z = torch.zeros_like(b)
        for _ in range(1 + _CORRECTIONS):
            system = torch.where(positive.outer(positive), Q, 0.0) + torch.diag((~positive).to(b))
            z = torch.linalg.solve_ex(system, torch.where(positive, -b, 0.0))[0]
            positive = torch.where(positive, z > 0, Q @ z + b < 0)
        z = z.nan_to_num(0.0, 0.0, 0.0).clamp(min=0)
        return z * (self.budget / z.sum()).clamp(max=1.0).nan_to_num(1.0)

    def _reduction(self, gram: Tensor, g: Tensor, weights: Tensor) -> Tensor:
        """By how much the model says that the penalty function falls."""
        products = self.t * gram @ weights
        violation = (g - products[1:]).clamp(min=0).amax()
        here = g.clamp(min=0).amax()
        return self.objective * products[0] - 0.5 * weights @ products + self.penalty * (here - violation)
