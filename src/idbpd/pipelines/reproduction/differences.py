"""Where two runs of the same program first differ, and the likely causes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

METRICS = ("certificate", "quality")


def first_difference(recorded: Mapping[str, Any], repeated: Mapping[str, Any]) -> str | None:
    """The first difference from the data to the metrics, bit for bit; None where there is none."""
    if recorded["data_sha256"] != repeated["data_sha256"]:
        return (
            f"the data have SHA-256 {repeated['data_sha256'][:12]}, those of the run had {recorded['data_sha256'][:12]}"
        )
    return _first_weight(recorded["weights"], repeated["weights"]) or next(
        filter(None, (_first_metric(recorded[name], repeated[name], name) for name in METRICS)), None
    )


def other_conditions(recorded: Mapping[str, Any], repeated: Mapping[str, Any]) -> list[str]:
    """All conditions that differ from the recorded run, the likeliest cause first."""
    conditions = []
    if recorded["data_sha256"] != repeated["data_sha256"]:
        conditions.append("other data")
    if recorded["code_sha256"] != repeated["code_sha256"]:
        conditions.append(f"other code ({repeated['origin']})")
    if recorded["threads"] != repeated.get("threads", recorded["threads"]):
        conditions.append(f"other thread count ({repeated['threads']}, it was {recorded['threads']})")
    before, now = _versions(recorded["packages"]), _versions(repeated["packages"])
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if changed:
        shown = ", ".join(f"{name} {before.get(name, 'absent')} -> {now.get(name, 'absent')}" for name in changed[:5])
        conditions.append(f"other library versions ({shown}{', ...' if len(changed) > 5 else ''})")
    return conditions


def _versions(packages: str) -> dict[str, str]:
    """The versions in a list with a line ``name==version`` for each package."""
    return dict(line.split("==", 1) for line in packages.splitlines())


def _first_weight(recorded: Mapping[str, Tensor], repeated: Mapping[str, Tensor]) -> str | None:
    for name in sorted({*recorded, *repeated}):
        if name not in recorded or name not in repeated:
            return f"only one of the runs has weights {name!r}"
        before, now = recorded[name], repeated[name]
        if before.shape != now.shape or before.dtype != now.dtype:
            return f"weights {name!r} are {_kind(now)}, they were {_kind(before)}"
        # As bits: a zero and a negative zero are equal, and a NaN is not equal to itself.
        unequal = _bits(before).ne(_bits(now)).nonzero()
        if len(unequal):
            at = int(unequal[0])
            was, comes = before.flatten()[at].item(), now.flatten()[at].item()
            return f"weight {at} of {name!r} is {comes!r}, it was {was!r} ({len(unequal)} of {before.numel()} differ)"
    return None


def _first_metric(recorded: Any, repeated: Any, name: str) -> str | None:
    if isinstance(recorded, Mapping) and isinstance(repeated, Mapping):
        for key in {**recorded, **repeated}:
            found = _first_metric(recorded.get(key), repeated.get(key), f"{name}.{key}")
            if found:
                return found
        return None
    return None if repr(recorded) == repr(repeated) else f"{name} is {repeated!r}, it was {recorded!r}"


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().flatten().view({8: torch.int64, 4: torch.int32}[tensor.element_size()])


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
