"""Words of one column that differ in capitals alone mean the same: Bonn, bonn and BONN."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.tabular.two_values import FALSE, TRUE

# With more different values they may be codes, in which capitals count.
MOST_VALUES = 100
# Shorter words may be symbols in which capitals count: the genotypes AA, Aa and aa. Yes and no are known.
SHORTEST = 3


def one_spelling(words: Sequence[str], rows: NDArray[np.int64]) -> dict[str, str]:
    """The spelling to use for each word that has others: the one in most ``rows``."""
    alike: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        alike.setdefault(word.casefold(), []).append(at)
    if len(alike) == len(words) or len(alike) > MOST_VALUES:
        return {}
    found: dict[str, str] = {}
    for folded, places in alike.items():
        if len(places) > 1 and (len(folded) >= SHORTEST or folded in TRUE | FALSE):
            used = words[max(places, key=lambda at: (rows[at], words[at]))]
            found |= {words[at]: used for at in places if words[at] != used}
    return found


def told(spellings: dict[str, str]) -> str:
    """The same for people: 'bonn' and 'BONN' as 'Bonn'."""
    by_used: dict[str, list[str]] = {}
    for word, used in spellings.items():
        by_used.setdefault(used, []).append(word)
    named = [f"{' and '.join(map(repr, others))} as {used!r}" for used, others in by_used.items()]
    return "; ".join(named[:3]) + (f"; and {len(named) - 3} more" if len(named) > 3 else "")
