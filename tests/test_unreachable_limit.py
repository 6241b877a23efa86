"""A limit that no model can keep: the run says so, finishes, and keeps the model that is closest to the limit."""

import json

import pytest

from tests.kedro_project import KedroProject

SOURCE = """same:
  type: idbpd.datasets.TabularDataset
  filepath: data/01_raw/same.csv
  tasks: {important: [a, b], limited: [c, d]}
"""
# The features say nothing of the labels: the best guess is uniform, with the loss ln 2.
LABELS = ("0,1,0,1", "1,0,1,0", "0,1,1,0", "1,0,0,1")
ROWS = "x,y,a,b,c,d\n" + "".join(f"{x},{3 - x},{labels}\n" for x in (1, 2) for labels in LABELS) * 10
PARAMETERS = ",".join(
    (
        "dataset=same,model.hidden=4,problem.weight_decay=0.001",
        "calibration.threshold=0.3,calibration.max_steps=100,training.max_steps=300",
    )
)


def test_the_model_closest_to_an_unreachable_limit_is_evaluated(project: KedroProject) -> None:
    project.configure("mlflow.yml", "enabled: false\n")
    project.configure("sources.yml", SOURCE)
    (project.data / "01_raw").mkdir(parents=True)
    (project.data / "01_raw/same.csv").write_text(ROWS)
    output = project.kedro("run", params=PARAMETERS)
    outcome = json.loads((project.data / "07_model_output/same/outcome.json").read_text())
    assert outcome["status"] == "INFEASIBLE"
    assert outcome["reached"]["limited"] == pytest.approx(0.6931, abs=1e-3)
    assert "an infeasible stationary point" in output
    assert "the worst-case loss of the limited task came down to 0.69" in output
    certificate = json.loads((project.data / "08_reporting/same/certificate.json").read_text())
    assert (certificate["status"], certificate["reason"]) == ("INFEASIBLE", outcome["reason"])
    assert certificate["infeasibility"] == pytest.approx(0.6931 - 0.3, abs=1e-3)
    summary = (project.data / "08_reporting/same/summary.csv").read_text()
    assert "INFEASIBLE" in summary
    assert "0.3000 BROKEN" in summary
    assert (project.data / "06_models/same/weights.safetensors").exists()
