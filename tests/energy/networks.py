"""Small networks for tests."""

from torch import nn


def convolutions() -> nn.Sequential:
    """Two convolutions with pooling, a hidden linear layer and a last one, for pictures of 8 x 8."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(24, 5),
        nn.Tanh(),
        nn.Linear(5, 3),
    )


def perceptron() -> nn.Sequential:
    """One hidden layer."""
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))
