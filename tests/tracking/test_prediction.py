"""``kedro run --pipeline predict``: with which model, what comes out, and what is refused."""

import shutil
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner, Result
from kedro.framework.startup import bootstrap_project
from mlflow import MlflowClient

from idbpd.cli import cli
from idbpd.mtl import ExportedModel, FeatureScaling, LabelProbabilities, SharedNetwork
from idbpd.tracking import TrackedModelDataset
from idbpd.tracking.runs import EXECUTION_VARIABLE, child_run
from idbpd.tracking.store import URI_VARIABLE, open_store
from tests.tracking.conftest import RUN, begin


def _model(seed: int) -> ExportedModel:
    torch.manual_seed(seed)
    network = LabelProbabilities(SharedNetwork(2, 3, (2, 2)), FeatureScaling(torch.zeros(2), torch.ones(2)))
    return ExportedModel(network, ("age", "size"), {"x": ("0", "1"), "y": ("2", "3")}, torch.ones(2, 2))


class Predict:
    """The command, in a copy of the project with a table to score."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / "data/06_models/multi_digits/model"
        self.rows = torch.randn(5, 2)
        frame = pd.DataFrame(self.rows.numpy(), columns=["age", "size"]).assign(name="somebody")
        frame[["name", "size", "age"]].to_csv(project / "table.csv", index=False)

    def __call__(self, *more: str) -> Result:
        given = ",".join(["input=table.csv", "output=scores.csv", *more])
        command = ["run", "--pipeline", "predict", "--params", given]
        return CliRunner().invoke(cli, command, obj=bootstrap_project(self.project))

    def train(self, seed: int, name: str | None = None) -> ExportedModel:
        """Leave a model as training does; under a name, as a registered champion too."""
        model = _model(seed)
        dataset = TrackedModelDataset(filepath=str(self.folder), run=RUN)
        if name is None:
            dataset.save(model)
            return model
        store = open_store(None, self.project / "data/09_tracking", "idbpd")
        journal = begin(self.project / "outbox", store.uri, artifacts=store.artifacts)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(URI_VARIABLE, store.uri)
            patch.setenv(EXECUTION_VARIABLE, str(journal.folder))
            dataset.save(model)
            run_id = child_run(RUN)
        assert run_id is not None
        version = mlflow.register_model(MlflowClient().get_run(run_id).data.tags["model_uri"], name)
        MlflowClient().set_registered_model_alias(name, "champion", version.version)
        journal.close()
        return model

    def assert_scored_by(self, model: ExportedModel) -> None:
        scores = pd.read_csv(self.project / "scores.csv")
        assert list(scores.columns) == ["x:0", "x:1", "y:2", "y:3"]
        np.testing.assert_allclose(scores.to_numpy(), model.network(self.rows).detach().numpy(), rtol=1e-5)


@pytest.fixture
def predict(project: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> Predict:
    (project / "data/09_tracking").mkdir(parents=True)
    shutil.copy(database, project / "data/09_tracking")
    monkeypatch.chdir(project)
    monkeypatch.setenv("KEDRO_LOGGING_CONFIG", "left alone")
    monkeypatch.delenv(URI_VARIABLE, raising=False)
    return Predict(project)


def test_without_a_champion_the_last_trained_model_scores(predict: Predict) -> None:
    result = predict()
    assert "there is no model for the data set 'multi_digits' yet; train one with: kedro run" in result.output
    model = predict.train(seed=0)
    result = predict()
    assert result.exit_code == 0, result.output
    predict.assert_scored_by(model)


def test_the_champion_scores_before_a_later_model(predict: Predict) -> None:
    champion = predict.train(seed=0, name="idbpd-multi_digits")
    later = predict.train(seed=1)
    assert predict().exit_code == 0
    predict.assert_scored_by(champion)
    other = predict.train(seed=2, name="idbpd-other")
    assert predict("model_uri=models:/idbpd-other/1").exit_code == 0
    predict.assert_scored_by(other)
    assert later is not champion


def test_an_altered_model_scores_nothing(predict: Predict) -> None:
    predict.train(seed=0)
    (predict.folder / "served_model.py").write_text("import os; os.abort()\n")
    result = predict()
    assert result.exit_code == 1
    assert "model: the file served_model.py was altered after the model was logged" in result.output
    assert not (predict.project / "scores.csv").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age\n1\n", "Error: table.csv: 1 of the model's 2 features are missing, the first is 'size'"),
        ("age,size\n1,2\n3,\n", "Error: table.csv, line 3: feature 'size' is missing (or not a number)"),
    ],
)
def test_what_cannot_be_scored_ends_in_one_line_and_leaves_an_earlier_output(
    predict: Predict, text: str, message: str
) -> None:
    predict.train(seed=0)
    (predict.project / "table.csv").write_text(text)
    (predict.project / "scores.csv").write_text("of yesterday\n")
    result = predict()
    assert result.exit_code == 1
    assert message in result.output
    assert (predict.project / "scores.csv").read_text() == "of yesterday\n"
