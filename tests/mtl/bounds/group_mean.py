"""A worst case that knows the group of every sample: the largest of the groups' mean losses."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class GroupMean:
    groups: Tensor  # (n,)

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:
        groups = self.groups.expand_as(losses) if samples is None else self.groups[samples]
        candidates = []
        for group in sorted(set(self.groups.tolist())):
            inside = (groups == group).double()
            candidates.append(inside / inside.sum(dim=-1, keepdim=True))
        weights = torch.stack(candidates)
        worst = (weights * losses).sum(dim=-1).argmax(dim=0)
        return weights.gather(0, worst[None, ..., None].expand_as(weights[:1]))[0]

    def price(self, weights: Tensor) -> Tensor:
        return torch.zeros_like(weights[..., 0])
