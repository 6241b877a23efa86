"""``kedro run`` with a network that is no part of the project."""

import importlib
import json
import re
import sys
from pathlib import Path

import mlflow
import pytest
from safetensors.torch import load_file

from tests.kedro_project import PROJECT, KedroProject

PAGE = (PROJECT / "docs" / "own_network.md").read_text(encoding="utf-8")
(NETWORK,) = re.findall(r"^```python\n(# my_networks.py.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_a_network_of_ones_own_is_calibrated_trained_certified_and_exported(
    tracked_project: KedroProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tracked_project
    (tmp_path / "my_networks.py").write_text(NETWORK)
    monkeypatch.syspath_prepend(tmp_path)
    given = "model.type=my_networks.TwoLayers,model.options.width=8,calibration.max_steps=15,training.max_steps=15"
    project.kedro("run", params=f"{given},compute.threads=1")
    weights = load_file(project.data / "06_models/multi_digits/weights.safetensors")
    assert weights["heads.priority.weight"].shape == (5, 8)
    certificate = json.loads((project.data / "08_reporting/multi_digits/certificate.json").read_text())
    assert certificate["infeasibility"] <= 1e-3
    outcome = json.loads((project.data / "07_model_output/multi_digits/outcome.json").read_text())
    assert outcome["threads"] == 1
    assert outcome["made_with"]["model.type"] == "my_networks.TwoLayers"

    client, (_, child) = project.tracked_runs()
    assert child.data.tags["threads"] == "1"
    (model,) = client.search_logged_models([child.info.experiment_id])
    assert model.source_run_id == child.info.run_id
    # The exported model does not need the user's module: from here on it cannot be imported.
    monkeypatch.setitem(sys.modules, "my_networks", None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("my_networks")
    assert model.artifact_location is not None
    served = mlflow.pyfunc.load_model(model.artifact_location)
    answer = served.predict(served.input_example.head(1)).drop(columns="replaced").to_numpy(float)
    assert answer.sum() == pytest.approx(2, rel=1e-5)  # two tasks, one distribution each
