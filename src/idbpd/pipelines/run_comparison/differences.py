"""What differs between runs: parameters, choices, data, code and machine; what is the same in all is left out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from idbpd.pipelines.run_comparison.marks import Marked

# Parameters of other pipelines, which do not change a run.
UNRELATED = ("compare.", "benchmark.", "report.", "run_id", "input", "output", "model_uri")
MOST_NAMED = 3
HASH = 12  # digits of a hash that tell it from others
ABSENT = ""


def parameters(runs: Sequence[Marked]) -> dict[str, list[str]]:
    """The parameters that differ, by name, with the value of every run."""
    return _differing([{key: value for key, value in run.run.parameters.items() if not key.startswith(UNRELATED)}
                       for run in runs])  # fmt: skip


def choices(runs: Sequence[Marked]) -> dict[str, list[str]]:
    """What the runs chose by themselves, where it differs."""
    chosen = []
    for run in runs:
        made_with = run.run.outcome.get("made_with", {})
        found = {"weight decay in use": made_with.get("problem.weight_decay")}
        for task, record in run.run.certificate["tasks"].items():
            found[f"limit of {task} in training"] = float(f"{record['threshold']:.4g}")
        chosen.append(found)
    return _differing(chosen)


def origins(runs: Sequence[Marked]) -> dict[str, list[str]]:
    """Data, code and machine, where they differ."""
    found = []
    for run in runs:
        known = {"data set": run.run.dataset, **run.run.origin}
        known.pop("command", None)  # it says what the parameters say
        found.append({key: value[:HASH] if _is_hash(value) else value for key, value in known.items()})
    return _differing(found)


def packages(runs: Sequence[Marked]) -> dict[str, list[str]]:
    """Versions of libraries, where they differ."""
    return _differing([run.run.packages for run in runs])


def difference_in_words(run: Marked, runs: Sequence[Marked]) -> str:
    """The parameters of one run that differ from others', in a few words."""
    found = [f"{name}={values[run.at]}" for name, values in parameters(runs).items() if values[run.at] != ABSENT]
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _differing(of_runs: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    names = dict.fromkeys(name for values in of_runs for name in values)
    table = {name: [_shown(values[name]) if name in values else ABSENT for values in of_runs] for name in names}
    return {name: values for name, values in table.items() if len(set(values)) > 1}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_hash(value: str) -> bool:
    return len(value) >= 40 and all(sign in "0123456789abcdef" for sign in value)
