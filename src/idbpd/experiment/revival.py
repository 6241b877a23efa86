"""Leave the saddle point at which a model for some tasks has nothing for another one.

Weight decay draws to zero whatever the tasks of a model do not use: the heads of other tasks, units that died. The
gradient of another task is zero there as well: a head of zeros passes nothing back, and it learns nothing from units
that say nothing. A solve that starts there ends there, with a perfect certificate and a model that guesses.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

DEAD = 0.1  # a row is dead if its norm is below this share of its initial norm


def revived(weights: Mapping[str, Tensor], initial: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights, with the initial values in place of dead rows (a row: all that leads into one unit).

    What the model says for its own tasks stays nearly the same: they do not use what died.
    """
    return {name: _revived(tensor, initial[name]) for name, tensor in weights.items()}


def _revived(tensor: Tensor, initial: Tensor) -> Tensor:
    if tensor.ndim < 2:
        return tensor
    inner = tuple(range(1, tensor.ndim))
    dead = tensor.square().sum(inner, keepdim=True) <= DEAD**2 * initial.square().sum(inner, keepdim=True)
    return torch.where(dead, initial, tensor)
