"""The message about a name that is no parameter: the nearest names in one line, and where all of them are listed."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MOST = 3  # names that are offered
LISTING = "kedro show parameters"


def unknown_parameter(name: str, known: Iterable[str], listing: str = LISTING) -> str:
    """The message; ``known`` are the full names of all parameters and blocks, ``listing`` a command that shows them.

    >>> unknown_parameter("training.max_setps", ["seed", "training", "training.max_steps", "training.start"])
    "unknown parameter 'training.max_setps'; did you mean 'training.max_steps'? all: kedro show parameters training"
    >>> unknown_parameter("lambda", ["problem", "problem.lambda"])
    "unknown parameter 'lambda'; did you mean 'problem.lambda'? all: kedro show parameters"
    """
    names = list(known)
    block, _, last = name.rpartition(".")
    near = _near(last, [other for other in names if other.rpartition(".")[0] == block])
    # Users forget the block, or take a wrong one, as often as they mistype.
    near = near or _near(last, names)
    if near:
        rest = f"did you mean {_either(near)}?"
    elif not listing:
        rest = f"choose from {', '.join(sorted(names))}"
    else:
        rest = ""
    top = name.partition(".")[0]
    where = f"all: {listing} {top if block and top in names else ''}".rstrip() if listing else ""
    return f"unknown parameter {name!r}; {' '.join(filter(None, [rest, where]))}"


def _near(last: str, names: Sequence[str]) -> list[str]:
    """The names whose last part is nearest; of the same distance, the first ones."""
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(".")[2], []).append(name)
    close = get_close_matches(last, by_last, n=MOST, cutoff=0.7)
    if last in close:
        close = [last]
    return [name for part in close for name in by_last[part]][:MOST]


def _either(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]
