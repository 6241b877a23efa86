"""Which of two values means yes."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.tabular.written_numbers import number_text
from idbpd.errors import ConfigurationError

# Yes and no, true and false, in the languages of most tables.
PAIRS = """
1 0, true false, t f, yes no, y n
ja nein, j n, wahr falsch, oui non, vrai faux, sì no, vero falso, sí no, si no, verdadero falso, sim não, sim nao
ja nee, waar onwaar, ja nej, sand falsk, sant falskt, ja nei, kyllä ei, tak nie, ano ne, da ne, igen nem, da nu
да нет, так ні, истина ложь, ναι όχι, evet hayır, 是 否, 是 不是, はい いいえ, 예 아니요, ya tidak, có không, نعم لا
"""  # noqa: RUF001 - letters that look like others are meant
TRUE, FALSE = (
    frozenset(pair.split()[at] for line in PAIRS.strip().splitlines() for pair in line.split(", ")) for at in (0, 1)
)
# Other words for success or presence, in pairs of two values such as Pass and Fail.
POSITIVE = TRUE | {"pass", "passed", "positive", "pos", "on", "present", "success"}
# A 1 beside another number than these may be a code such as 1 and 2.
ZEROS = frozenset({"0", "-1"})


def likely_positive(words: Sequence[str], counts: NDArray[np.int64]) -> int:
    """The position of the value that means yes: a word such as 1, yes, pass; otherwise the rarer value."""
    for at, word in enumerate(words):
        lower, other = word.lower(), words[1 - at].lower()
        if lower in POSITIVE and other not in POSITIVE and (lower != "1" or other in ZEROS):
            return at
    return 0 if counts[0] < counts[1] else 1


def given_positive(given: Any, words: Sequence[str], place: str) -> int:
    """The position of the value that people named; YAML has made a number or a boolean of some of them."""
    if isinstance(given, bool):
        meant = [at for at, word in enumerate(words) if word.lower() in (TRUE if given else FALSE)]
    else:
        text = number_text(given) if isinstance(given, int | float) else str(given).strip()
        meant = [at for at, word in enumerate(words) if word == text]
    if len(meant) == 1:
        return meant[0]
    close = get_close_matches(str(given), words, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
    raise ConfigurationError(f"{place} has no value {given!r} to be positive; {hint}its values are {shown}")
