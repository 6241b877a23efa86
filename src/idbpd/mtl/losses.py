"""The loss of one sample on one task."""

import torch
from torch import Tensor


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy against a distribution over the labels, one value per sample.

    Zero logits are a uniform guess, whose loss is the logarithm of the number of labels:

    >>> cross_entropy(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
    tensor([1.3863])
    """
    return -(targets * torch.log_softmax(logits, dim=-1)).sum(dim=-1)
