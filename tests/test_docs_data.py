"""What docs/data.md says is what happens: its example is run, its table is computed anew."""

import json
import re

import pytest
import yaml
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from idbpd.datasets.table import TaskTable
from idbpd.datasets.tabular.values import MISSING
from idbpd.experiment.splitting.fingerprint import data_sha256
from idbpd.hooks.sources import require_source
from tests.kedro_project import PROJECT, KedroProject
from tests.real_data import ROOT, needs_real_data

TEXT = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
SHORT = "calibration.max_steps=5,training.max_steps=5,problem.weight_decay=0.001"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_example_with_a_table_of_ones_own_runs(project: KedroProject, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.data / "01_raw").mkdir(parents=True)
    (code,) = _blocks("python")
    monkeypatch.chdir(project.path)
    exec(compile(code, "data.md", "exec"), {})
    block, credentials, behind_a_login, arff = _blocks("yaml")
    project.configure("sources.yml", block)
    (command,) = _blocks("sh")
    kedro, *arguments, option, params = command.split()
    assert (kedro, option) == ("kedro", "--params")
    output = project.kedro(*arguments, params=f"{params},{SHORT}")
    assert re.search(r"urgent task \(priority\).* outage, security", output)
    for task in ("team", "minutes"):
        assert f"the {task} task alone reaches a worst-case loss of" in output
        assert re.search(rf"{task}: worst-case loss .* (kept|BROKEN)", output)
    _require_tracked(project)
    assert set(yaml.safe_load(arff)["flags"]) == {"type", "filepath", "labels"}
    require_source("tickets", yaml.safe_load(behind_a_login), yaml.safe_load(credentials))


def test_the_words_for_a_missing_value_are_those_of_the_reader() -> None:
    (listed,) = re.findall(r"Missing values are empty, or one of (.*?)\. Blanks", TEXT, flags=re.DOTALL)
    assert tuple(re.findall(r"`(.*?)`", listed)) == MISSING


def _require_tracked(project: KedroProject) -> None:
    """Three tasks: one objective, two constraints, each with its threshold, value and multiplier."""
    certificate = json.loads((project.data / "08_reporting/tickets/certificate.json").read_text())
    assert list(certificate["tasks"]) == ["team", "minutes"]
    assert certificate["constraint"] == max(task["constraint"] for task in certificate["tasks"].values())
    assert certificate["multiplier"] == max(task["multiplier"] for task in certificate["tasks"].values())
    fingerprint = json.loads((project.data / "05_model_input/tickets/fingerprint.json").read_text())
    client, (_, child) = project.tracked_runs()
    for name in ("data_sha256", "split_sha256"):
        assert child.data.tags[name] == fingerprint[name]
    for task, record in certificate["tasks"].items():
        for metric in ("constraint", "multiplier"):
            assert child.data.metrics[f"final_{metric}_{task}"] == record[metric]
            assert client.get_metric_history(child.info.run_id, f"{metric}_{task}")
        assert child.data.metrics[f"test_{task}_holds"] in (0, 1)


def _load_source(project: KedroProject, name: str) -> TaskTable:
    bootstrap_project(project.path)
    session = KedroSession.create(project.path, runtime_params={"dataset": name})
    table = session.load_context().catalog.load("source")
    assert isinstance(table, TaskTable)
    return table


# What composing the published images must give on every machine.
COMPOSED = {
    "multi_mnist": "939b41b97396bd47cc9c661ece5007afbbdc108752a477af2bfad541eb6ec8ac",
    "multi_fashion": "c37feace06e0c4b723d441bed602a1167201a279a63e759d414ed8fba4c150bf",
}


@needs_real_data
@pytest.mark.parametrize("name", ["multi_digits", "chd49", "yeast", "20ng", "multi_mnist", "multi_fashion"])
def test_the_table_says_what_the_published_files_have(
    project: KedroProject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDBPD_DATA", str(ROOT))
    table = _load_source(project, name)
    half = len(table.label_names) // 2
    sizes = " / ".join(str(part.any(axis=1).sum()) for part in (table.labels[:, :half], table.labels[:, half:]))
    counts = f"{len(table)} | {len(table.feature_names)} | {len(table.label_names)}"
    assert f"| `{name}` | {counts} | {table.cardinality:.3f} | {sizes} |" in TEXT
    if name in COMPOSED:
        assert data_sha256(table) == COMPOSED[name]


def test_every_block_of_the_project_is_in_the_table() -> None:
    blocks = yaml.safe_load((PROJECT / "conf" / "base" / "sources.yml").read_text())
    named = re.findall(r"^\| `(\w+)` \| \d", TEXT, flags=re.MULTILINE)
    assert named == [name for name in blocks if not name.startswith("_")]
