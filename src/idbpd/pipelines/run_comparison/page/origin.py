"""What differs between the runs, and where each comes from."""

from collections.abc import Mapping, Sequence

from idbpd.experiment.page.markup import Markup, details, element, section, table
from idbpd.pipelines.run_comparison import differences as found
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.page.runs import key

NOT_SET = "—"


def differences(runs: Sequence[Marked]) -> Markup:
    """The section: only what is not the same in all runs."""
    tables = [
        _table("Parameters that differ", "parameter", found.parameters(runs), runs),
        _table("Data, code and machine that differ", "what", found.origins(runs), runs),
        _table("What the runs chose by themselves, where it differs", "choice", found.choices(runs), runs),
    ]
    shown = [one for one in tables if one]
    libraries = found.packages(runs)
    if libraries:
        versions = _table("Versions that differ", "library", libraries, runs)
        shown.append(details(f"Libraries with other versions ({len(libraries)})", versions))
    if not shown:
        same = "Nothing that is tracked: parameters, data, code and machine are the same."
        return section("differences", "What differs", element("p", same))
    return section("differences", "What differs", *shown)


def _table(caption: str, what: str, rows: Mapping[str, Sequence[str]], runs: Sequence[Marked]) -> Markup:
    if not rows:
        return Markup("")
    body = [(title, *(value or NOT_SET for value in values)) for title, values in rows.items()]
    return table(caption, [what, *(key(run) for run in runs)], body, class_="words")


def origin(runs: Sequence[Marked]) -> Markup:
    """Name, command and id of every run."""
    rows = [
        (
            key(run),
            run.run.name,
            element("code", run.run.origin.get("command", "")),
            element("code", run.run.run_id),
            element("code", run.run.origin.get("commit", "not known")[:12]),
        )
        for run in runs
    ]
    note = "MLflow has the report of each run among the artifacts of the run with this id."
    return section(
        "provenance",
        "Where they come from",
        table("Runs in MLflow", ["run", "name", "command", "id", "commit"], rows, class_="words"),
        element("p", note, class_="note"),
    )
