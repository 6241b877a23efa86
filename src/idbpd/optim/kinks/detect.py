"""How a kink is recognised: at a kink the worst case jumps, so that trial after trial is refused however short it is,
and the worst cases of the last places together explain the residual that none of them explains alone, or one of them
all but attains the maximum with quite another gradient.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read
from idbpd.optim.kinks.bundle import Cuts, certify, lean, no_cuts, values_of
from idbpd.optim.kinks.bundle_step import Exchange, begin
from idbpd.optim.oracle import Evaluation, Maximisers, TermOracle
from idbpd.optim.quasi_newton.arc_search import Found
from idbpd.optim.quasi_newton.point import Place

_REMEMBERED = 8  # worst cases that are tried where a kink is suspected
_SUSPICIOUS = 4  # refused trials, less the steps without any, that raise the suspicion
_SHORT = 0.1  # length of arc
_ATTEMPTS = 3  # phases for kinks that may end without a result
_STAGNATION = 300  # steps in a row without gain or a better residual before such a run ends
_EXPLAINED = 0.25  # share of the stationarity that several worst cases must explain where one does not
_STRICTNESS = 30.0  # how much the gap of a worst case to the maximum counts there
_NEAR = 1e-3  # distance of a kink that is near, relative to x
_SHARP = 0.1  # jump of the gradient, relative to the stationarity, that is sharp


class Jumps(NamedTuple):
    """What is remembered of the last steps. To remember waits for nothing."""

    recent: tuple[Maximisers, ...] = ()  # the worst cases of the last places and trials, the newest first
    refused: int = 0  # trials refused lately
    looks: int = 0  # how often there was no kink in spite of them
    attempts: int = 0  # how often the phase for kinks ended without a result
    idle: int = 0  # steps in a row without gain

    def after(self, left: Maximisers, found: Found, *, gained: bool) -> "Jumps":
        """After a step from a place with the worst cases ``left``."""
        # A short step that is not refused gives no relief: the one after it will be.
        relieved = max(self.refused - 1, min(self.refused, 0)) if found.proposal.t >= _SHORT else self.refused
        beyond = () if found.beyond is None else (found.beyond,)
        return self._replace(
            recent=(*beyond, left, *self.recent)[:_REMEMBERED],
            refused=self.refused + found.refused if found.refused else relieved,
            idle=0 if gained else self.idle + 1,
        )

    @property
    def can_be_resolved(self) -> bool:
        """Whether the phase for kinks may still be tried."""
        return self.attempts < _ATTEMPTS

    @property
    def is_suspicious(self) -> bool:
        """Whether to look for a kink."""
        return self.refused >= _SUSPICIOUS

    @property
    def is_stagnant(self) -> bool:
        """Whether nothing has been gained for long."""
        return self.idle >= _STAGNATION

    def unfounded(self) -> "Jumps":
        """After a look that found no kink: the next one comes later and later."""
        return self._replace(refused=-_SUSPICIOUS * (1 + self.looks), looks=self.looks + 1)

    def unresolved(self, *, moved: bool) -> "Jumps":
        """After a phase without a result; where it has not even moved, there will not be another."""
        return Jumps(attempts=self.attempts + 1 if moved else _ATTEMPTS)


def look(
    oracle: TermOracle, place: Place, jumps: Jumps, penalty: float, tolerance: float, *, restoring: bool
) -> Exchange | None:
    """The phase for kinks, where there seems to be one at ``place``: the worst cases met lately explain what the one
    there does not (the stationarity of the Lagrangian, in a restoration that of the violation), or the surface where
    one of them takes over is near.
    """
    here = place.evaluation
    cuts, _ = no_cuts(here.x).with_points(oracle, here.x, [here.maximisers, *jumps.recent])
    cuts = _jumped(oracle, here.x, cuts)
    values, highest = cuts.raised(values_of(here)), cuts.highest(cuts.values)
    only = cuts.kept(list(highest.values()))
    alone, together = (_left(here, values, some, restoring=restoring) for some in (only, cuts))
    top = [highest[term] for term in cuts.terms]
    (sizes,) = read(torch.linalg.vector_norm((cuts.gradients - cuts.gradients_of(top)).to(torch.float64), dim=1))
    is_near = cuts.values[top] - cuts.values <= _NEAR * (1 + place.length) * sizes
    has_kink = together <= (1 - _EXPLAINED) * alone or bool((is_near & (sizes > _SHARP * alone)).any())
    return begin(oracle, here, cuts, penalty, tolerance) if has_kink else None


def _left(here: Evaluation, values: Tensor, cuts: Cuts, *, restoring: bool) -> float:
    """The stationarity that is left with the best mixture of some worst cases."""
    if restoring:
        return lean(values, cuts, _STRICTNESS)[0]
    # At an infeasible point a multiplier may be as large as it likes: what counts is the gap to the worst case.
    above = torch.cat([values.new_zeros(1), values[1:].clamp(min=0)])
    certificate = certify(here, values - above, cuts.lowered(above), _STRICTNESS)
    return number(read(certificate.iterate.residuals.stationarity)[0])


def _jumped(oracle: TermOracle, x: Tensor, cuts: Cuts) -> Cuts:
    """Those that a worst case does not become by moving."""
    highest = cuts.highest(cuts.values)
    rows = [row for row, term in enumerate(cuts.terms) if row != highest[term]]
    have_moved = cuts.have_moved(oracle, x, [(highest[cuts.terms[row]], row) for row in rows])
    moved = {row for row, is_so in zip(rows, have_moved, strict=True) if is_so}
    return cuts.kept([row for row in range(len(cuts.terms)) if row not in moved])
