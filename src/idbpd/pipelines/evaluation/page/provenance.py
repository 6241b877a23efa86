"""Where the result comes from, and how to get it again."""

import json
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import idbpd
from idbpd.experiment.page.markup import Markup, details, element, section, table
from idbpd.experiment.records.execution import commit_of, whole_command
from idbpd.pipelines.evaluation.page.facts import Facts
from idbpd.redaction import redact

LIBRARIES = ("torch", "numpy", "pandas", "scikit-learn", "kedro", "mlflow")


def provenance(facts: Facts, project: Path) -> Markup:
    """The section."""
    return section(
        "provenance",
        "Where it comes from",
        element("h3", "Make it again"),
        element("pre", element("code", _command(facts)), tabindex="0", role="group", aria_label="command"),
        element("p", "With the commit and the data below it gives the same digits. From its run in MLflow, ",
                element("code", "kedro run --pipeline reproduce --params run_id=<id>"),
                " repeats it and says whether it is bit-identical."),
        table("Data, code and machine", ["what", "value"], list(_origin(facts, project)), class_="words"),
        details("All parameters", table("Parameters of the run", ["parameter", "value"],
                                        list(_flat(facts.parameters)), class_="words")),
    )  # fmt: skip


def _command(facts: Facts) -> str:
    """The command of this run; where another program started it, the one that says the same of data and seed."""
    if "run" in sys.argv[1:3] or Path(sys.argv[0]).parent.name == "idbpd":
        return redact(whole_command(sys.argv[1:]))
    return f"kedro run --params dataset={facts.dataset},seed={facts.parameters.get('seed', 0)}"


def _origin(facts: Facts, project: Path) -> Iterator[tuple[object, object]]:
    outcome = facts.outcome
    for title, key in (("data (SHA-256)", "data_sha256"), ("data and split (SHA-256)", "split_sha256")):
        if key in outcome:
            yield title, outcome[key]
    commit = commit_of(project)
    if commit is not None:
        yield "commit", commit.sha + (", with changes that were not committed" if commit.dirty else "")
    yield "idbpd", idbpd.__version__
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "libraries", ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
    yield "device, threads", f"{outcome['device']}, {outcome['threads']}"
    yield from ((key, _shown(value)) for key, value in outcome["made_with"].items() if "SHA-256" not in key)


def _flat(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[object, object]]:
    for key, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _shown(value)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
