"""Small networks for tests."""

from collections.abc import Mapping

from torch import Tensor, nn


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


class Normalised(nn.Module):
    """A network of a user's own with a layer that the energy model does not know."""

    def __init__(self, features: int, classes: Mapping[str, int]) -> None:
        """Make the layers."""
        super().__init__()
        self.first, self.norm = nn.Linear(features, 4), nn.LayerNorm(4)
        self.heads = nn.ModuleDict({task: nn.Linear(4, count) for task, count in classes.items()})

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """Logits by task."""
        shared = self.norm(self.first(features))
        return {task: head(shared) for task, head in self.heads.items()}
