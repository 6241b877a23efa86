"""What a task can predict."""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["binary", "classes", "labels", "number", "distribution"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Meaning:
    """What the outputs of a task mean.

    - ``binary``: one output, the logit of the positive value; ``other`` is the value that is not the positive one.
    - ``classes``: one output per class, exactly one of which is true.
    - ``labels``: one output per label; any number of them may be true, each is answered on its own.
    - ``number``: one output, the number minus ``center`` and divided by ``scale``.
    - ``distribution``: one output per label; the target is the sample's labels, normalised to sum to one (the paper's).
    """

    kind: Kind = "distribution"
    other: str | None = None
    center: float = 0.0
    scale: float = 1.0


DISTRIBUTION = Meaning()
