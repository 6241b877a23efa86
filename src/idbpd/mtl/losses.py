"""The loss of one sample on one task, and its slope in what the network said."""

import torch
from torch import Tensor


def cross_entropy(logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
    """Cross-entropy against a distribution over the labels, which lie along ``dim``: one value per sample.

    Zero logits are a uniform guess, whose loss is the logarithm of the number of labels:

    >>> cross_entropy(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
    tensor([1.3863])
    """
    return -(targets * torch.log_softmax(logits, dim=dim)).sum(dim=dim)


def cross_entropy_slope(logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
    """The derivative of each sample's cross-entropy in its logits; zero where the target is zero, as the loss is.

    >>> cross_entropy_slope(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
    tensor([[-0.2500, -0.2500,  0.2500,  0.2500]])
    """
    return torch.softmax(logits, dim=dim) * targets.sum(dim=dim, keepdim=True) - targets
