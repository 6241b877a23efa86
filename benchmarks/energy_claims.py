"""What every point of `benchmarks.energy_budget` has to show, counted over all of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

OURS = "budget"
RESIDUAL = 1e-2  # of the solver, at most


def print_claims(rows: Sequence[Mapping[str, Any]]) -> bool:
    """A line per claim, and whether all points meet all of them; points that do not are named."""
    ours = [row for row in rows if row["method"] == OURS]
    claims = [
        ("within the budget on the worst hardware, by a sum over the arrays", rows, _is_within),
        ("ours: as many multipliers as layers, and one more", ours, _has_its_multipliers),
        (f"ours: worst KKT residual at most {RESIDUAL:g}", ours, lambda row: row["residual"] <= RESIDUAL),
    ]
    print()
    missed = []
    for name, of, holds in claims:
        those = [row for row in of if not holds(row)]
        missed += those
        print(f"{name}: {len(of) - len(those)} of {len(of)} points")
    print(f"the largest residual of ours: {max((row['residual'] for row in ours), default=0.0):.1e}")
    for row in missed:
        print("missed by", *(row[key] for key in ("dataset", "network", "seed", "budget", "method", "residual")))
    return not missed


def _is_within(row: Mapping[str, Any]) -> bool:
    return bool(row["within"]) and row["share"] <= row["budget"] * (1 + 1e-12)


def _has_its_multipliers(row: Mapping[str, Any]) -> bool:
    """The layers are those that the sum over the arrays has found."""
    values = row["multipliers"]
    return len(values) == len(row["nonzero"]) + 1 and all(math.isfinite(value) and value >= 0 for value in values)
