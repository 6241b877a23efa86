"""A model within an energy budget in words and on a small table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from idbpd.experiment.headline import state_verdict
from idbpd.experiment.shown import name_of, written_of
from idbpd.mtl import HEADLINE, TaskQuality
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.energy.certified import RESIDUALS, worst_residual

Measured = Mapping[str, Mapping[str, TaskQuality]]  # by part and task


def energy_headline(certificate: Mapping[str, Any], quality: Mapping[str, float], residual_limit: float) -> str:
    """The budget first, then what a plain run says, then whether the solver came to an end under the budget."""
    energy, before = certificate["energy"], certificate["budgeted"]
    layers = energy["layers"].values()
    kept, of = (sum(layer[name] for layer in layers) for name in ("nonzero", "weights"))
    verdict = "WITHIN BUDGET" if energy["within_budget"] else "OVER BUDGET"
    residual = worst_residual(certificate)
    broken = certificate["constraint"]
    known = "certified" if residual <= residual_limit else f"NOT CERTIFIED, a residual is above {residual_limit:g}"
    return "\n".join(
        [
            f"{verdict}: one answer needs {energy['share']:.4f} of the dense network's energy on the worst hardware, "
            f"{energy['budget']:g} is allowed; {kept} of {of} weights are left",
            *(_not_both(broken) if broken > residual_limit else ()),
            state_verdict(dict(certificate), dict(quality)),
            f"Under the budget, before pruning: {before['status']}, the worst residual is "
            f"{max(before[name] for name in RESIDUALS):.1e} ({known}).",
        ]
    )


def _not_both(broken: float) -> tuple[str]:
    """Where the limits cannot be kept with so few weights, as far as the solver could find out."""
    return (
        f"BROKEN on the training data: with this budget a limit is exceeded by {broken:.4f}; allow more energy "
        "(energy.budget) or a looser limit (calibration.slack)",
    )


def energy_summary(pruned: Measured, dense: Measured, certificate: Mapping[str, Any]) -> pd.DataFrame:
    """The pruned model next to the dense one: energy, weights by layer, and quality on the last part of the data."""
    energy = certificate["energy"]
    rows = [
        _row("energy of an answer, worst hardware (nJ)", f"{energy['worst_pj'] / 1000:.4g}", energy["dense_pj"] / 1000),
    ]
    for name, layer in energy["layers"].items():
        shape = " x ".join(str(size) for size in layer["shape"])
        rows.append(_row(f"{name}: weights that are not zero (shape {shape})", layer["nonzero"], layer["weights"]))
    part = list(pruned)[-1]
    for task, quality in pruned[part].items():
        for measure in (WORST_CASE, *HEADLINE[quality.kind]):
            label = f"{task}: {name_of(measure)}{', test' if part == 'test' else ''}"
            rows.append(_row(label, written_of(quality, measure), written_of(dense[part][task], measure)))
    return pd.DataFrame(rows)


def _row(what: str, pruned: object, dense: object) -> dict[str, str]:
    shown = f"{dense:.4g}" if isinstance(dense, float) else str(dense)
    return {"what": what, "within the budget": str(pruned), "dense": shown}
