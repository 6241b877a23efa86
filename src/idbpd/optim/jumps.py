"""How a kink is recognised: at a kink the worst case jumps, so that trial after trial is refused however short it is,
and the worst cases of the last places together explain the residual that none of them explains alone.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.cuts import Cuts, certify, lean, no_cuts, values_of
from idbpd.optim.exchange import Exchange, begin
from idbpd.optim.host import number, read
from idbpd.optim.oracle import Maximisers, TermOracle
from idbpd.optim.place import Place
from idbpd.optim.search import Found

_REMEMBERED = 6  # worst cases that are tried where a kink is suspected
_SUSPICIOUS = 4  # refused trials, less the steps without any, that raise the suspicion
_ATTEMPTS = 3  # phases for kinks that may end without a result
_STAGNATION = 300  # steps in a row without gain or a better residual before such a run ends
_EXPLAINED = 0.5  # share of the stationarity that may be left where several worst cases explain it
_STRICTNESS = 100.0  # how much the gap of a worst case to the maximum counts there


class Jumps(NamedTuple):
    """What is remembered of the last steps. To remember waits for nothing."""

    recent: tuple[Maximisers, ...] = ()  # the worst cases of the last places and trials, the newest first
    refused: int = 0  # trials refused lately
    looks: int = 0  # how often there was no kink in spite of them
    attempts: int = 0  # how often the phase for kinks ended without a result
    idle: int = 0  # steps in a row without gain

    def after(self, left: Maximisers, found: Found, *, gained: bool) -> "Jumps":
        """After a step from a place with the worst cases ``left``."""
        beyond = () if found.beyond is None else (found.beyond,)
        return self._replace(
            recent=(*beyond, left, *self.recent)[:_REMEMBERED],
            refused=self.refused + found.refused if found.refused else max(self.refused - 1, min(self.refused, 0)),
            idle=0 if gained else self.idle + 1,
        )

    @property
    def can_be_resolved(self) -> bool:
        """Whether the phase for kinks may still be tried."""
        return self.attempts < _ATTEMPTS

    @property
    def is_suspicious(self) -> bool:
        """Whether to look for a kink."""
        return self.can_be_resolved and self.refused >= _SUSPICIOUS

    @property
    def is_stagnant(self) -> bool:
        """Whether there is nothing to hope for."""
        return not self.can_be_resolved and self.idle >= _STAGNATION

    def unfounded(self) -> "Jumps":
        """After a look that found no kink: the next one comes later and later."""
        return self._replace(refused=-_SUSPICIOUS * 2**self.looks, looks=self.looks + 1)

    def unresolved(self, *, moved: bool) -> "Jumps":
        """After a phase without a result; where it has not even moved, there will not be another."""
        return Jumps(attempts=self.attempts + 1 if moved else _ATTEMPTS)


def look(oracle: TermOracle, place: Place, jumps: Jumps, penalty: float, *, restoring: bool) -> Exchange | None:
    """The phase for kinks, where the worst cases met lately explain what the one at ``place`` does not: the
    stationarity of the Lagrangian, or in a restoration that of the violation.
    """
    here = place.evaluation
    cuts, _ = no_cuts(here.x).with_points(oracle, here.x, [here.maximisers, *jumps.recent])
    cuts = _jumped(oracle, here.x, cuts)
    values = values_of(here)
    if restoring:
        only = cuts.kept([row for row in range(len(cuts.terms)) if row in cuts.highest(cuts.values).values()])
        alone, together = lean(values, only, _STRICTNESS)[0], lean(values, cuts, _STRICTNESS)[0]
    else:
        (size,) = read(place.residuals.stationarity)
        (left,) = read(certify(here, values, cuts, _STRICTNESS).iterate.residuals.stationarity)
        alone, together = number(size), number(left)
    return begin(oracle, here, cuts, penalty) if together <= _EXPLAINED * alone else None


def _jumped(oracle: TermOracle, x: Tensor, cuts: Cuts) -> Cuts:
    """Those that a worst case does not become by moving: where a term is strictly concave between a remembered worst
    case and the present one, higher in the middle than a straight line, the maximiser is unique and has only moved.
    """
    highest = cuts.highest(cuts.values)
    rows = [row for row, term in enumerate(cuts.terms) if row != highest[term]]
    if not rows:
        return cuts
    pairs = [(cuts.points[row], cuts.points[highest[cuts.terms[row]]]) for row in rows]
    middles = [None if a is None or b is None else (a + b) / 2 for a, b in pairs]
    (between,) = read(oracle.linearise(x, [cuts.terms[row] for row in rows], middles)[0])
    tops, own = cuts.values[[highest[cuts.terms[row]] for row in rows]], cuts.values[rows]
    rounding = 8 * torch.finfo(x.dtype).eps * tops.abs()
    has_moved = between - (tops + own) / 2 > 0.1 * (tops - own) + rounding
    moved = {row for row, is_so in zip(rows, has_moved.tolist(), strict=True) if is_so}
    return cuts.kept([row for row in range(len(cuts.terms)) if row not in moved])
