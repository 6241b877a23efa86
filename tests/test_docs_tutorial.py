"""What docs/tutorial.md says is what happens: its table is made, described, trained on and scored, with fewer steps."""

import re

import pandas as pd
import pytest

from tests.kedro_project import PROJECT, KedroProject

TEXT = (PROJECT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SHORT = (
    "calibration.max_steps=5,training.max_steps=5,problem.weight_decay=0.003,calibration.reserve=0,"
    "comparison.sweep=[],model.hidden=4"
)


def _blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    return [body for name, body in fences if name == language]


def _unwrapped(text: str) -> list[str]:
    return re.sub(r"\n {4}", " ", text).strip().splitlines()


@pytest.mark.slow
def test_every_step_works_as_it_stands(project: KedroProject, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.data / "01_raw").mkdir(parents=True)
    monkeypatch.chdir(project.path)
    (code,), (block,), texts = _blocks("python"), _blocks("yaml"), _blocks("text")
    exec(compile(code, "tutorial.md", "exec"), {})
    assert (project.data / "01_raw" / "customers.csv").read_text().startswith(texts[0])

    project.configure("sources.yml", block)
    project.configure("mlflow.yml", {"enabled": False})
    commands = [line for text in _blocks("") for line in text.splitlines() if line.startswith("kedro")]
    train, too_much, groups, predict = (line.split() for line in commands)
    output = project.kedro(*train[1:-2], params=f"{train[-1]},{SHORT}")
    assert output.splitlines()[: len(_unwrapped(texts[1]))] == _unwrapped(texts[1])
    assert re.search(r"^PRIORITY: churn on unseen data: accuracy", output, flags=re.MULTILINE)
    for task in ("spend", "plan"):
        assert re.search(rf"(HOLDS|NOT SHOWN|BROKEN): .*{task}", output)

    (new,) = (text for text in texts if text.startswith("customer_id") and "moon" in text)
    (project.path / "new.csv").write_text(new)
    assert project.kedro(*predict[1:-2], params=predict[-1]).splitlines()[1] in TEXT
    replaced = pd.read_csv(project.path / "scores.csv", keep_default_na=False)["replaced"]
    assert all(f"{words} |" in TEXT for words in replaced)
    for line in (too_much, groups):
        assert line[:3] == ["kedro", "run", "--params"]
        project.kedro("run", "--to-nodes", "ingest", params=line[3])
