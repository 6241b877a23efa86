"""How a kink is recognised.

At a kink the worst case jumps, so that trial after trial is refused however short it is. Then the worst cases of the
last points are compared: there is a kink if together they explain the residual that none of them explains alone, or if
one of them nearly attains the maximum with a very different gradient.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read
from idbpd.optim.kinks.bundle import Bundle, empty_bundle
from idbpd.optim.kinks.bundle_step import BundleState, begin
from idbpd.optim.kinks.certificate import certify, values_of, violation_stationarity
from idbpd.optim.oracle import Evaluation, Maximisers, TermOracle
from idbpd.optim.quasi_newton.arc_search import Found
from idbpd.optim.quasi_newton.point import EvaluatedPoint

_REMEMBERED = 8  # worst cases that are tried where a kink is suspected
_SUSPICIOUS = 4  # refused trials, less the steps without any, that raise the suspicion
_SHORT = 0.1  # length of arc below which a step is short
_ATTEMPTS = 3  # bundle phases that may end without a certificate
_STAGNATION = 300  # steps in a row without gain or a better residual before such a run ends
_EXPLAINED = 0.25  # share of the stationarity that several worst cases must explain where one does not
_STRICTNESS = 30.0  # how much the gap of a worst case to the maximum counts there
_NEAR = 1e-3  # distance of a kink that is near, relative to x
_SHARP = 0.1  # jump of the gradient, relative to the stationarity, that is sharp


class KinkWatch(NamedTuple):
    """What is remembered of the last steps to recognise a kink. Remembering does not wait for the device."""

    recent: tuple[Maximisers, ...] = ()  # the worst cases of the last points and trials, the newest first
    refused: int = 0  # trials refused lately
    looks: int = 0  # how often there was no kink in spite of them
    attempts: int = 0  # how often a bundle phase ended without a certificate
    idle: int = 0  # steps in a row without gain

    def after(self, left: Maximisers, found: Found, *, gained: bool) -> "KinkWatch":
        """After a step from a point with the worst cases ``left``."""
        # A short step that is not refused gives no relief: the one after it will be.
        relieved = max(self.refused - 1, min(self.refused, 0)) if found.proposal.t >= _SHORT else self.refused
        beyond = () if found.beyond is None else (found.beyond,)
        return self._replace(
            recent=(*beyond, left, *self.recent)[:_REMEMBERED],
            refused=self.refused + found.refused if found.refused else relieved,
            idle=0 if gained else self.idle + 1,
        )

    @property
    def may_try_bundle(self) -> bool:
        """Whether several worst cases may still be tried."""
        return self.attempts < _ATTEMPTS

    @property
    def is_suspicious(self) -> bool:
        """Whether to look for a kink."""
        return self.refused >= _SUSPICIOUS

    @property
    def is_stagnant(self) -> bool:
        """Whether nothing has been gained for long."""
        return self.idle >= _STAGNATION

    def after_false_alarm(self) -> "KinkWatch":
        """After a look that found no kink: the next look comes later."""
        return self._replace(refused=-_SUSPICIOUS * (1 + self.looks), looks=self.looks + 1)

    def after_bundle(self, *, moved: bool) -> "KinkWatch":
        """After a bundle phase without a certificate. Where it did not even move, there will not be another."""
        return KinkWatch(attempts=self.attempts + 1 if moved else _ATTEMPTS)


def find_kink(
    oracle: TermOracle, point: EvaluatedPoint, watch: KinkWatch, penalty: float, tolerance: float, *, restoring: bool
) -> BundleState | None:
    """The first state of a bundle phase, if there seems to be a kink at ``point``; None if not.

    What several worst cases must explain is the stationarity of the Lagrangian, in a restoration that of the violation.
    """
    here = point.evaluation
    bundle, _ = empty_bundle(here.x).with_points(oracle, here.x, [here.maximisers, *watch.recent])
    bundle = _jumped(oracle, here.x, bundle)
    values, highest = bundle.raised(values_of(here)), bundle.highest(bundle.values)
    only = bundle.kept(list(highest.values()))
    alone, together = (_stationarity_left(here, values, some, restoring=restoring) for some in (only, bundle))
    top = [highest[term] for term in bundle.terms]
    (sizes,) = read(torch.linalg.vector_norm((bundle.gradients - bundle.gradients_of(top)).to(torch.float64), dim=1))
    is_near = bundle.values[top] - bundle.values <= _NEAR * (1 + point.length) * sizes
    has_kink = together <= (1 - _EXPLAINED) * alone or bool((is_near & (sizes > _SHARP * alone)).any())
    return begin(oracle, here, bundle, penalty, tolerance) if has_kink else None


def _stationarity_left(here: Evaluation, values: Tensor, bundle: Bundle, *, restoring: bool) -> float:
    """The stationarity that is left with the best mixture of some worst cases."""
    if restoring:
        return violation_stationarity(values, bundle, _STRICTNESS)[0]
    # At an infeasible point a multiplier may be as large as it likes: what counts is the gap to the worst case.
    above = torch.cat([values.new_zeros(1), values[1:].clamp(min=0)])
    certificate = certify(here, values - above, bundle.lowered(above), _STRICTNESS)
    return number(read(certificate.iterate.residuals.stationarity)[0])


def _jumped(oracle: TermOracle, x: Tensor, bundle: Bundle) -> Bundle:
    """The worst cases that are not one of the highest ones moved."""
    highest = bundle.highest(bundle.values)
    rows = [row for row, term in enumerate(bundle.terms) if row != highest[term]]
    have_moved = bundle.have_moved(oracle, x, [(highest[bundle.terms[row]], row) for row in rows])
    moved = {row for row, is_so in zip(rows, have_moved, strict=True) if is_so}
    return bundle.kept([row for row in range(len(bundle.terms)) if row not in moved])
