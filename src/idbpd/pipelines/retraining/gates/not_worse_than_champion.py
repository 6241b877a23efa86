"""The priority task is not worse than that of the model in use, and does not get worse little by little.

Two conditions, both on the same test samples for both models:

- The new model is not *shown* to be worse than the champion: the one-sided bound of the difference of both worst cases
  does not exclude that it is as good.
- It is not *measured* to be worse than the yardstick by more than ``margin``. The yardstick is the first champion, or
  the last version that was shown to be better than the yardstick before it. It stays where it is while models that are
  a little worse replace each other, so many small steps are no more than one.

Safety comes first. A limit that the champion breaks on the test part, and that the new model is shown to keep (HOLDS),
excuses the first condition. If the champion is *shown* to break it, the second one, too. Being measured is not enough
there: a champion close to its limit is measured beyond it every few nights, and each time the yardstick would be lost.
"""

from typing import Annotated

from pydantic import Field

from idbpd.mtl.bounds import Verdict
from idbpd.pipelines.retraining.comparison import Against, BrokenLimit
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult
from idbpd.pipelines.retraining.paired import CONFIDENCE, Paired

NAME, DRIFT = "not_worse_than_champion", "no_drift"


class Options(GateOptions):
    """How much worse models may get in total, and whether a champion that cannot be compared is an obstacle."""

    margin: Annotated[float, Field(ge=0)] = 0.05
    accept_other_tasks: bool = False


def check(evidence: Evidence, options: Options) -> list[GateResult]:
    """Both conditions, and what excuses them."""
    loss, compared = evidence.held_out[evidence.priority], evidence.comparison
    champion, measured_by = compared.champion, compared.measured_by
    if champion is None or measured_by is None:
        return [GateResult(NAME, loss, None, True, "is the first one: there is no champion to compare with")]
    if champion.paired is None:
        note = f"cannot be compared with the champion: {champion.words}"
        return [GateResult(NAME, loss, None, options.accept_other_tasks, note)]
    excused, shown = _excused(evidence)
    return [
        _not_worse(evidence.priority, champion, champion.paired, excused),
        _no_drift(evidence.priority, measured_by, options.margin, shown, is_champion=compared.yardstick is None),
    ]


def is_yardstick(evidence: Evidence, options: Options) -> bool:
    """Whether models are measured by the new one from now on, once it is promoted."""
    compared = evidence.comparison
    measured_by = compared.measured_by
    if measured_by is None or measured_by.paired is None:  # the first one, or one of other tasks
        return True
    return measured_by.paired.is_shown_better or not _is_within(measured_by.paired, options.margin)


def _not_worse(task: str, champion: Against, paired: Paired, excused: BrokenLimit | None) -> GateResult:
    # What the new model's loss may be at most: the champion's, and what chance explains.
    limit = None if paired.worse_by is None else paired.new - paired.worse_by
    note = _in_words(task, champion, paired)
    if not paired.is_shown_worse:
        return GateResult(NAME, paired.new, limit, True, note)
    return GateResult(NAME, paired.new, limit, excused is not None, note + _excuse(excused))


def _no_drift(
    task: str, yardstick: Against, margin: float, shown: BrokenLimit | None, *, is_champion: bool
) -> GateResult:
    paired = yardstick.paired
    assert paired is not None  # the champion can be compared, and a yardstick that cannot is left out
    limit = paired.old * (1 + margin)
    worse = paired.new / paired.old - 1 if paired.old > 0 else 0.0
    numbers = f" (worst-case loss {paired.new:.4f} against {paired.old:.4f} {yardstick.words})"
    note = (
        f"is {abs(worse):.1%} {'worse' if worse > 0 else 'better'} in {task} than version {yardstick.version}, by "
        f"which models are measured{'' if is_champion else numbers}; {margin:.1%} worse is allowed"
    )
    if _is_within(paired, margin):
        return GateResult(DRIFT, paired.new, limit, True, note)
    return GateResult(DRIFT, paired.new, limit, shown is not None, note + _excuse(shown))


def _is_within(paired: Paired, margin: float) -> bool:
    return paired.new <= paired.old * (1 + margin)  # NaN is not


def _excused(evidence: Evidence) -> tuple[BrokenLimit | None, BrokenLimit | None]:
    """A limit that the champion breaks and the new model keeps: one that was measured, and one that was shown."""
    verdicts = {name: record["verdict"] for name, record in evidence.certificate["held_out"]["tasks"].items()}
    broken = [limit for limit in evidence.comparison.broken if verdicts[limit.task] == Verdict.HOLDS]
    return next(iter(broken), None), next((limit for limit in broken if limit.is_shown), None)


def _in_words(task: str, champion: Against, paired: Paired) -> str:
    numbers = f"worst-case loss {paired.new:.4f} against {paired.old:.4f} {champion.words}"
    word, least = ("worse", paired.worse_by) if paired.is_shown_worse else ("better", paired.better_by)
    if not (paired.is_shown_worse or paired.is_shown_better):
        return f"is not shown to be worse than version {champion.version} in {task} ({numbers})"
    shown = f"at least {least:.2g} {word} with {100 * CONFIDENCE:g} % confidence"
    return f"is {word} than version {champion.version} in {task} ({numbers}; {shown})"


def _excuse(limit: BrokenLimit | None) -> str:
    if limit is None:
        return ""
    return (
        f"; it may be, because the champion breaks the limit of {limit.task} {limit.words} (worst-case loss "
        f"{limit.loss:.4f}, limit {limit.limit:.4f}) and the new model keeps it"
    )


GATE = Gate(Options, check, is_comparison=True)
