"""``kedro show`` lists what can be set, from the files and registries themselves."""

import pytest
import yaml

from idbpd.baselines import METHODS
from idbpd.mtl import LOSSES, WORST_CASES
from idbpd.mtl.metrics import MEASURES
from tests.kedro_project import PROJECT, KedroProject


def _shown(project: KedroProject, *arguments: str) -> dict[str, str]:
    """What is listed, by name; a text that is wrapped is put together."""
    rows: dict[str, str] = {}
    name = ""
    for line in project.kedro("show", *arguments).splitlines():
        first, _, text = ("", "", line) if line.startswith(" ") else line.partition("  ")
        name = first or name
        rows[name] = f"{rows.get(name, '')} {text.strip()}".strip()
    return rows


def test_every_parameter_is_listed_with_its_value_and_meaning(project: KedroProject) -> None:
    rows = _shown(project, "parameters")
    assert rows["training.tolerance = 1.0e-3"] == "on the worst of the three KKT residuals"
    assert rows["seed = 0"] == "of the network's initial weights"
    assert rows["training.method = idbpd"] == "a name of `kedro show methods`"
    assert rows["training:"].startswith("How the model is trained under the limits")
    assert rows["retrain.margin = 0.05"].startswith("By which share the priority task may get worse in total")
    assert rows["features.scaling = auto"].startswith("none, standard (mean 0, deviation 1)")
    assert rows["features.scaling = auto"].endswith(
        "auto: standard for tables, maximum for sparse tables, none for images"
    )
    blocks = {name.partition(".")[0].partition(" ")[0].rstrip(":") for name in rows}
    written = [yaml.safe_load(path.read_text()) for path in (PROJECT / "conf/base").glob("parameters*.yml")]
    assert blocks == {block for file in written for block in file}


def test_one_block_is_listed_alone_and_an_unknown_one_is_refused(project: KedroProject) -> None:
    rows = _shown(project, "parameters", "split")
    assert len(rows) == 7
    assert all(name.startswith("split") for name in rows)
    output = project.kedro("show", "parameters", "spilt", exit_code=1)
    assert output == "Error: unknown parameter 'spilt'; did you mean 'split'? all: kedro show parameters\n"


def test_a_data_set_of_ones_own_is_listed_with_its_comment(project: KedroProject) -> None:
    project.configure("sources.yml", "shop: # orders of last year\n  type: a.B\n")
    rows = _shown(project, "datasets")
    assert rows["shop"] == "orders of last year"
    assert rows["yeast"] == "functions of genes"
    assert not any(name.startswith("_") for name in rows)


@pytest.mark.parametrize(
    ("what", "names"),
    [("methods", METHODS), ("losses", LOSSES), ("worst-cases", WORST_CASES), ("measures", MEASURES)],
)
def test_everything_in_a_registry_is_listed_with_a_text(
    project: KedroProject, what: str, names: dict[str, object]
) -> None:
    rows = _shown(project, what)
    assert list(rows) == list(names)
    assert all(rows.values())


def test_options_and_measures_are_named(project: KedroProject) -> None:
    assert "share = 0.8" in _shown(project, "worst-cases")["share"]
    assert "methods.cooper_adam.dual_rate = 0.1" in _shown(project, "methods")["cooper_adam"]
    assert "For: number." in _shown(project, "losses")["huber"]
    assert "limit.<measure>: accuracy, recall, precision, specificity" in _shown(project, "measures")["binary"]
