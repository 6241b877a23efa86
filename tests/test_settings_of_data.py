"""The ways to set up a data set that only a whole run shows."""

import json
from pathlib import Path

from idbpd.datasets import MultiTaskDataset
from tests.kedro_project import KedroProject
from tests.real_data import ROOT, needs_real_data


def _run(project: KedroProject, params: str, env: str = "local") -> Path:
    (project.path / "conf" / env / "mlflow.yml").write_text("enabled: false\n")
    steps = "calibration.max_steps=2,training.max_steps=2"
    project.kedro("run", "--env", env, params=f"{params},{steps}", environment={"IDBPD_DATA": str(ROOT)})
    return project.data


@needs_real_data
def test_the_papers_setting(project: KedroProject) -> None:
    data = _run(project, env="paper", params="dataset=chd49")
    train = MultiTaskDataset(filepath=str(data / "05_model_input/chd49/train.safetensors")).load()
    assert train.features.shape == (555, 49)
    assert [task.size for task in train.tasks] == [534, 461]
    threshold = json.loads((data / "06_models/chd49/threshold.json").read_text())
    assert threshold["slack"] == 0
    assert threshold["threshold"] == threshold["tasks"]["constraint"]["value"]
    assert (data / "06_models/chd49/weights.safetensors").exists()
    # No data were held out, so no result is called a test result.
    quality = json.loads((data / "08_reporting/chd49/quality.json").read_text())
    assert all(name.startswith("train_") for name in quality)
    assert "test" not in (data / "08_reporting/chd49/summary.csv").read_text()


def test_composed_images_by_position(project: KedroProject) -> None:
    data = _run(project, params="split.by=position,problem.weight_decay=0.001")
    train = MultiTaskDataset(filepath=str(data / "05_model_input/multi_digits/train.safetensors")).load()
    assert [(task.name, len(task.labels), task.size) for task in train.tasks] == [
        ("top_left", 10, 3200),
        ("bottom_right", 10, 3200),
    ]
    certificate = json.loads((data / "08_reporting/multi_digits/certificate.json").read_text())
    assert list(certificate["tasks"]) == ["bottom_right"]
