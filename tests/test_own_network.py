"""``kedro run`` with a network that is no part of the project."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient
from safetensors.torch import load_file

from tests.conftest import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")
(NETWORK,) = re.findall(r"^```python\n(# my_networks.py.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_a_network_of_ones_own_is_calibrated_trained_certified_and_exported(project: Path, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "my_networks.py").write_text(NETWORK)
    given = "model.type=my_networks.TwoLayers,model.options.width=8,calibration.max_steps=15,training.max_steps=15"
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "run", "--params", f"{given},compute.threads=1"],
        cwd=project,
        env=environment | {"PYTHONPATH": f"{project / 'src'}{os.pathsep}{code}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    weights = load_file(project / "data/06_models/multi_digits/weights.safetensors")
    assert weights["heads.priority.weight"].shape == (5, 8)
    certificate = json.loads((project / "data/08_reporting/multi_digits/certificate.json").read_text())
    assert certificate["infeasibility"] <= 1e-3
    outcome = json.loads((project / "data/07_model_output/multi_digits/outcome.json").read_text())
    assert outcome["threads"] == 1
    assert outcome["made_with"]["model.type"] == "my_networks.TwoLayers"

    client = MlflowClient(f"sqlite:///{project / 'data/09_tracking/mlflow.db'}")
    experiment = client.get_experiment_by_name("idbpd")
    assert experiment is not None
    (model,) = client.search_logged_models([experiment.experiment_id])
    assert model.source_run_id is not None
    assert client.get_run(model.source_run_id).data.tags["threads"] == "1"
    # The exported model does not need the user's module, which this process cannot import.
    program = (
        "import sys, mlflow; model = mlflow.pyfunc.load_model(sys.argv[1]); "
        "print(model.predict(model.input_example.head(1)).to_numpy().sum())"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program, model.artifact_location],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert float(loaded.stdout.split()[-1]) == pytest.approx(2, rel=1e-5)  # two tasks, one distribution each
