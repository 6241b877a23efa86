"""How often the default method waits for the device: once for each evaluation."""

import torch
from torch import Tensor

from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from tests.optim.accelerator import Remote
from tests.optim.bank import Case, Closed


class RemoteOracle:
    """A case in closed form whose values and gradients are computed on the accelerator."""

    def __init__(self, case: Case) -> None:
        self._functions: list[Closed] = [case.f, *case.g]

    @property
    def constraint_count(self) -> int:
        return len(self._functions) - 1

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, (None,) * self.constraint_count)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        assert isinstance(x, Remote)
        values = torch.stack([function(x.numbers).detach().reshape(()) for function in self._functions]).double()
        return Evaluation(x, Remote(values[0]), Remote(values[1:]), warm, Remote(torch.zeros_like(values)))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        assert isinstance(evaluation.x, Remote)
        x = evaluation.x.numbers.detach().requires_grad_()
        rows = [torch.autograd.grad(function(x), x)[0] for function in self._functions]
        return Gradients(
            Remote(rows[0]), Remote(torch.stack(rows[1:]) if rows[1:] else x.new_zeros(0, len(x)).detach())
        )
