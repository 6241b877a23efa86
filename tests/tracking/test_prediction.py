"""``kedro run --pipeline predict``: with which model, what comes out, and what is refused."""

from dataclasses import replace

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from mlflow import MlflowClient

from idbpd.mtl import ExportedModel
from idbpd.tracking import TrackedModelDataset
from idbpd.tracking.runs import EXECUTION_VARIABLE, child_run
from idbpd.tracking.store import URI_VARIABLE, open_store
from tests.kedro_project import KedroProject
from tests.tracking.conftest import RUN, begin
from tests.tracking.exported import model_of_numbers


def _model(seed: int) -> ExportedModel:
    torch.manual_seed(seed)
    model = model_of_numbers(("age", "size"), {"x": ("0", "1"), "y": ("2", "3")})
    return replace(model, identifiers=("name",))


class Predict:
    """The command, in a copy of the project with a table to score."""

    def __init__(self, project: KedroProject) -> None:
        self.project = project
        self.folder = project.data / "06_models/multi_digits/model"
        self.rows = torch.randn(5, 2)
        frame = pd.DataFrame(self.rows.numpy(), columns=["age", "size"]).assign(name="somebody")
        frame[["name", "size", "age"]].to_csv(project.path / "table.csv", index=False)

    def __call__(self, *more: str, exit_code: int = 0) -> str:
        given = ",".join(["input=table.csv", "output=scores.csv", *more])
        return self.project.kedro("run", "--pipeline", "predict", params=given, exit_code=exit_code)

    def train(self, seed: int, name: str | None = None) -> ExportedModel:
        """Leave a model as training does; under a name, as a registered champion too."""
        model = _model(seed)
        dataset = TrackedModelDataset(filepath=str(self.folder), run=RUN)
        if name is None:
            dataset.save(model)
            return model
        store = open_store(None, self.project.data / "09_tracking", "idbpd")
        journal = begin(self.project.path / "outbox", store.uri, artifacts=store.artifacts)
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
        scores = pd.read_csv(self.project.path / "scores.csv")
        assert list(scores.columns) == ["name", "x:0", "x:1", "y:2", "y:3", "replaced"]
        assert set(scores["name"]) == {"somebody"}
        answers = scores.drop(columns=["name", "replaced"]).to_numpy()
        np.testing.assert_allclose(answers, model.network(self.rows).detach().numpy(), rtol=1e-5)


@pytest.fixture
def predict(tracked_project: KedroProject) -> Predict:
    return Predict(tracked_project)


def test_without_a_champion_the_last_trained_model_scores(predict: Predict) -> None:
    message = "there is no model for the data set 'multi_digits' yet; train one with: kedro run"
    assert message in predict(exit_code=1)
    model = predict.train(seed=0)
    predict()
    predict.assert_scored_by(model)


def test_the_champion_scores_before_a_later_model(predict: Predict) -> None:
    champion = predict.train(seed=0, name="idbpd-multi_digits")
    later = predict.train(seed=1)
    predict()
    predict.assert_scored_by(champion)
    other = predict.train(seed=2, name="idbpd-other")
    predict("model_uri=models:/idbpd-other/1")
    predict.assert_scored_by(other)
    assert later is not champion


def test_an_altered_model_scores_nothing(predict: Predict) -> None:
    predict.train(seed=0)
    (predict.folder / "served_model.py").write_text("import os; os.abort()\n")
    message = "model: the file served_model.py was altered after the model was logged"
    assert message in predict(exit_code=1)
    assert not (predict.project.path / "scores.csv").exists()


def test_an_unusable_table_ends_in_one_line_and_leaves_the_earlier_output(predict: Predict) -> None:
    predict.train(seed=0)
    scores = predict.project.path / "scores.csv"
    scores.write_text("of yesterday\n")
    message = "Error: table.csv has none of the model's columns; the model takes age, size, the file has a, b"
    (predict.project.path / "table.csv").write_text("a,b\n1,2\n")
    assert message in predict(exit_code=1)
    assert scores.read_text() == "of yesterday\n"


def test_a_file_with_gaps_is_scored_and_what_was_replaced_is_told(predict: Predict) -> None:
    model = predict.train(seed=0)
    (predict.project.path / "table.csv").write_text("more,age\nx,1\ny,?\nz,old\n")
    output = predict()
    assert "table.csv has no columns size, which the model knows: the usual value is taken for each" in output
    assert "scored 3 rows; in 3 of them values were missing or not known: see the column 'replaced'" in output
    scores = pd.read_csv(predict.project.path / "scores.csv")
    assert list(scores["replaced"]) == [
        "size missing, 0 used",
        "size missing, 0 used; age missing, 0 used",
        "size missing, 0 used; age 'old' not usable, 0 used",
    ]
    expected = model.network(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).detach().numpy()
    np.testing.assert_allclose(scores.drop(columns="replaced").to_numpy(), expected, rtol=1e-5)
