"""What people can choose by name, imported when a name is looked up.

Methods, losses and worst cases import torch, which takes seconds. Most parameters are checked without them, so that a
wrong value is refused at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idbpd.baselines import MethodEntry
    from idbpd.mtl import Kind


def methods() -> "dict[str, MethodEntry]":
    """All methods by name."""
    from idbpd.baselines import METHODS  # noqa: PLC0415

    return METHODS


def losses() -> dict[str, Any]:
    """All losses by name."""
    from idbpd.mtl import LOSSES  # noqa: PLC0415

    return LOSSES


def default_loss(kind: "Kind") -> str:
    """The name of the loss that a task of this kind has unless another one is chosen."""
    from idbpd import mtl  # noqa: PLC0415

    return mtl.default_loss(kind)


def worst_cases() -> dict[str, Any]:
    """All worst cases by name."""
    from idbpd.mtl import WORST_CASES  # noqa: PLC0415

    return WORST_CASES
