"""The exported model: it says what the network says, and an altered file is noticed."""

import json
import py_compile
import shutil
import tempfile
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from kedro.io import DatasetError
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from torch import Tensor, nn

from idbpd.errors import DataError
from idbpd.experiment.features import encode
from idbpd.mtl import ExportedModel, FeatureScaling
from idbpd.tracking import TrackedModelDataset, verify_model
from idbpd.tracking.journal import Journal
from idbpd.tracking.model_files import FILES_TAG, SHA256_TAG, WHY_COMPILED, model_tags
from idbpd.tracking.runs import child_run
from idbpd.tracking.scoring import ScoringModelDataset, VerifiedModel
from tests.tracking.conftest import RUN
from tests.tracking.exported import MIXED, mixed_model, model_of_numbers

FEATURES = ("age", "weight", "size of shoe", "pixel=1")
TASKS = {"urgent": ("stroke", "0"), "other": ("a", "b", "c")}


def _model() -> ExportedModel:
    return model_of_numbers(FEATURES, TASKS, scaling=FeatureScaling(torch.arange(4.0), torch.arange(1.0, 5.0)))


@pytest.fixture(autouse=True)
def _temporary_files_are_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models" / "model"


@pytest.fixture
def logged(journal: Journal, folder: Path) -> str:
    """The address of a model that was just logged."""
    TrackedModelDataset(filepath=str(folder), run=RUN).save(_model())
    run_id = child_run(RUN)
    assert run_id is not None
    return MlflowClient().get_run(run_id).data.tags["model_uri"]


def _stored(uri: str) -> Path:
    location = MlflowClient().get_logged_model(uri.removeprefix("models:/")).artifact_location
    return Path(location.removeprefix("file://"))


def test_it_gives_the_outputs_of_the_network_by_task_and_label(folder: Path) -> None:
    model = _model()
    TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    rows = torch.randn(1000, 4)
    frame = pd.DataFrame(rows.numpy(), columns=list(FEATURES))
    answer = mlflow.pyfunc.load_model(str(folder)).predict(frame[list(reversed(FEATURES))])
    assert list(answer.columns) == ["urgent:stroke", "urgent:0", "other:a", "other:b", "other:c", "replaced"]
    assert set(answer.pop("replaced")) == {""}
    np.testing.assert_allclose(answer.to_numpy(float), model.network(rows).detach().numpy(), rtol=1e-5, atol=1e-7)


def _rows(model: ExportedModel, count: int = 2) -> pd.DataFrame:
    return pd.DataFrame([model.example[at % 2] for at in range(count)])


def test_every_kind_of_task_is_answered_in_its_own_words_and_unit(folder: Path) -> None:
    model = mixed_model()
    TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    answer = mlflow.pyfunc.load_model(str(folder)).predict(_rows(model).assign(id=["x7", "x8"]))
    columns = [name for task in MIXED for name in task.columns]
    assert list(answer.columns) == ["id", *columns, "replaced"]
    assert list(answer["id"]) == ["x7", "x8"]
    features = torch.tensor(encode(_rows(model), model.encoding).matrix, dtype=torch.float32)
    outputs = model.network(features).detach().double().numpy()
    assert list(answer["income"]) == [">50K" if p >= 0.5 else "<=50K" for p in outputs[:, 0]]
    assert list(answer["plan"]) == [("basic", "gold", "none")[at] for at in outputs[:, 1:4].argmax(axis=1)]
    np.testing.assert_allclose(answer["spend"], 1000 + 20 * outputs[:, 6], rtol=1e-6)
    probabilities = [name for name in columns if ":" in name]
    expected = np.delete(outputs, 6, axis=1)
    np.testing.assert_allclose(answer[probabilities].to_numpy(float), expected, rtol=1e-5)
    median = model.encoding["numbers"][1]["median"]
    assert answer["replaced"][0] == ""
    assert answer["replaced"][1].startswith(f"income missing, {median:.10g} used; joined missing, ")


def test_a_value_is_the_more_likely_one(folder: Path) -> None:
    model = mixed_model()
    TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    answer = mlflow.pyfunc.load_model(str(folder)).predict(_rows(model, 400).assign(age=np.linspace(-3e4, 3e4, 400)))
    assert set(answer["income"]) == {">50K", "<=50K"}
    assert ((answer["income"] == ">50K") == (answer["income:>50K"] >= 0.5)).all()
    classes = answer[["plan:basic", "plan:gold", "plan:none"]].set_axis(["basic", "gold", "none"], axis=1)
    assert (classes.idxmax(axis=1) == answer["plan"]).all()
    assert answer["plan"].nunique() > 1


def test_no_row_ends_the_scoring_of_the_others(folder: Path) -> None:
    model = mixed_model()
    TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    served = mlflow.pyfunc.load_model(str(folder))
    frame = _rows(model, 4).astype(object)
    frame["work"] = pd.Series(["Alien", None, 3.0, True], dtype=object)
    frame["age"] = pd.Series(["old", " 12", np.inf, 7], dtype=object)
    frame["joined"] = pd.Series(["soon", "2020-01-01", 5, None], dtype=object)
    answer = served.predict(frame[frame.columns[::-1]].drop(columns="plan").assign(more=1))
    assert list(answer.columns) == [*(name for task in MIXED for name in task.columns), "replaced"]
    assert np.isfinite(answer[["income:>50K", "spend"]].to_numpy(float)).all()
    assert all(text.startswith("plan missing; ") for text in answer["replaced"])
    assert "; age 'old' not usable, " in answer["replaced"][0]
    assert "; work 'Alien' unknown; joined 'soon' not usable, " in answer["replaced"][0]
    # A good row has the same answer in any company.
    alone = served.predict(_rows(model, 1))
    together = served.predict(pd.concat([frame, _rows(model, 1)], ignore_index=True))
    assert alone["spend"][0] == pytest.approx(together["spend"][4], rel=1e-6)


def test_a_table_with_none_of_the_columns_is_refused(folder: Path) -> None:
    model = mixed_model()
    TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    served = mlflow.pyfunc.load_model(str(folder))
    message = "^none of the model's columns is given; it takes age, work, income, plan, joined, seen$"
    for frame in (pd.DataFrame({"other": [1]}), pd.DataFrame({"id": [1]}), np.zeros((2, 6))):
        with pytest.raises(MlflowException, match=message):
            served.predict(frame)


class OtherNetwork(nn.Module):
    """With whatever a network may have: buffers, a constant, layers that act otherwise in training."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Dropout(), nn.Linear(6, 6))
        self.heads = nn.ModuleDict({"urgent": nn.Linear(6, 2), "other": nn.Linear(6, 3)})
        self.shift = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, features: Tensor) -> list[Tensor]:
        shared = self.shared(features + self.shift).clamp(max=torch.inf)
        return [head(shared) for head in self.heads.values()]


def test_a_network_of_any_kind_can_be_served_without_its_code(folder: Path) -> None:
    exported = model_of_numbers(FEATURES, TASKS, network=OtherNetwork().double(), dtype=torch.float64)
    network = exported.network
    network.train()
    network(torch.randn(50, 4, dtype=torch.float64))  # so that the normalisation has something to remember
    TrackedModelDataset(filepath=str(folder), run=RUN).save(exported)
    model = mlflow.pyfunc.load_model(str(folder))
    for rows in (1, 7):
        features = torch.randn(rows, 4, dtype=torch.float64)
        answer = model.predict(pd.DataFrame(features.numpy(), columns=list(FEATURES)))
        expected = network.eval()(features).detach().numpy()
        # The exported graph may round in another order: on some processors the last bit differs.
        np.testing.assert_allclose(answer.drop(columns="replaced").to_numpy(float), expected, rtol=1e-12)


def test_a_network_that_cannot_be_served_is_named(folder: Path) -> None:
    class Branching(nn.Module):
        def forward(self, features: Tensor) -> tuple[Tensor]:
            return (features if features.sum() > 0 else -features,)

    model = model_of_numbers(FEATURES, TASKS, network=Branching())
    with pytest.raises(DatasetError, match="the network AnswerNetwork cannot be exported for serving"):
        TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    assert not list(folder.parent.iterdir())


def test_it_is_a_standard_model_without_a_pickle(logged: str) -> None:
    info = mlflow.models.get_model_info(logged)
    assert info.signature is not None
    assert info.signature.inputs.input_names() == list(FEATURES)
    assert info.signature.outputs.input_names()[0] == "urgent:stroke"
    assert info.signature.inputs.optional_input_names() == list(FEATURES)
    files = [path for path in _stored(logged).rglob("*") if path.is_file()]
    served = (_stored(logged) / "served_model.py").read_text()
    assert not [line for line in served.splitlines() if line.strip().startswith(("import idbpd", "from idbpd"))]
    assert {path.suffix for path in files} == {"", ".json", ".py", ".safetensors", ".txt", ".yaml"}
    assert not [path for path in files if path.read_bytes()[:2] in (b"\x80\x04", b"\x80\x05", b"PK")]


def test_an_unaltered_model_is_verified_and_the_run_has_its_hashes(logged: str, folder: Path) -> None:
    verified = verify_model(logged)
    assert (verified / "MLmodel").read_bytes() == (folder / "MLmodel").read_bytes()
    run_id = child_run(RUN)
    assert run_id is not None
    tags = MlflowClient().get_run(run_id).data.tags
    beside = json.loads((folder.parent / "model.sha256.json").read_text())
    assert beside == {name: tags[name] for name in (SHA256_TAG, FILES_TAG)}


def test_a_registered_model_is_verified_by_alias_and_version(logged: str) -> None:
    version = mlflow.register_model(logged, "idbpd-yeast")
    MlflowClient().set_registered_model_alias("idbpd-yeast", "champion", version.version)
    for uri in ("models:/idbpd-yeast@champion", "models:/idbpd-yeast/1", "models:/idbpd-yeast@champion"):
        verify_model(uri)
    (_stored(logged) / "artifacts" / "weights.safetensors").write_bytes(b"other weights")
    with pytest.raises(DataError, match=r"@champion: the file artifacts/weights.safetensors was altered"):
        verify_model("models:/idbpd-yeast@champion")


def test_every_way_to_alter_a_model_is_noticed(logged: str) -> None:
    stored = _stored(logged)
    (stored / "more.py").write_text("")
    with pytest.raises(DataError, match=r"the file more.py was added after"):
        verify_model(logged)
    (stored / "more.py").unlink()
    shutil.copy(stored / "served_model.py", stored / "kept")
    (stored / "served_model.py").unlink()
    (stored / "kept").unlink()
    with pytest.raises(DataError, match=r"the file served_model.py was removed after"):
        verify_model(logged)
    MlflowClient().set_logged_model_tags(logged.removeprefix("models:/"), {FILES_TAG: "{}"})
    with pytest.raises(DataError, match="contradict each other"):
        verify_model(logged)
    MlflowClient().delete_logged_model_tag(logged.removeprefix("models:/"), SHA256_TAG)
    with pytest.raises(DataError, match="has no tag 'model_sha256'"):
        verify_model(logged)


def _plant(place: Path, source: Path) -> None:
    """Put compiled code beside a model. Python prefers it to the source, and does not look whether that is newer."""
    source.write_text("raise AssertionError('planted code was run')")
    (place / "__pycache__").unlink(missing_ok=True)
    compiled = cache_from_source(str(place / "served_model.py"))
    py_compile.compile(str(source), compiled, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)


def test_planted_compiled_code_is_refused(logged: str, folder: Path, tmp_path: Path) -> None:
    for place in (_stored(logged), folder):
        _plant(place, tmp_path / "planted.py")
    with pytest.raises(MlflowException, match="planted code"):
        mlflow.pyfunc.load_model(logged)
    with pytest.raises(DataError, match=r"the file __pycache__ was removed after the model was logged"):
        verify_model(logged)
    last = ScoringModelDataset(dataset_name="yeast", filepath=str(folder), uri=None)
    with pytest.raises(DatasetError, match=r"model: the file __pycache__ was removed after the model was logged"):
        last.load()
    shutil.rmtree(folder / "__pycache__")
    (folder / "__pycache__").write_text(WHY_COMPILED)
    for other in ("artifacts", "more"):
        (folder / other / "__pycache__").mkdir(parents=True)
        (folder / other / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"")
        with pytest.raises(DatasetError, match=rf"the file {other}/__pycache__/x.cpython-311.pyc was added after"):
            last.load()
        shutil.rmtree(folder / other / "__pycache__")


def test_loading_a_model_writes_no_compiled_code(logged: str, folder: Path) -> None:
    """Otherwise a model that was served would look like one that was tampered with."""
    for place in (_stored(logged), folder):
        mlflow.pyfunc.load_model(str(place))
        assert (place / "__pycache__").is_file()
    verify_model(logged)
    assert ScoringModelDataset(dataset_name="yeast", filepath=str(folder), uri=None).load().columns == FEATURES


def test_compiled_code_beside_an_older_model_is_never_run(logged: str, folder: Path, tmp_path: Path) -> None:
    """It has no file that keeps Python from writing it, so it need not be planted: it is left out of what is loaded."""
    (folder / "__pycache__").unlink()
    tags = model_tags(folder)
    MlflowClient().set_logged_model_tags(logged.removeprefix("models:/"), tags)
    (folder.parent / "model.sha256.json").write_text(json.dumps(tags))
    for place in (_stored(logged), folder):
        _plant(place, tmp_path / "planted.py")
    assert VerifiedModel.at(logged).columns == FEATURES
    assert not list(verify_model(logged).rglob("*.pyc"))
    assert ScoringModelDataset(dataset_name="yeast", filepath=str(folder), uri=None).load().columns == FEATURES


def test_another_loader_in_the_description_is_refused(logged: str, folder: Path) -> None:
    for place in (_stored(logged), folder):
        description = (place / "MLmodel").read_text()
        assert "loader_module: mlflow.pyfunc.loaders.code_model" in description
        (place / "MLmodel").write_text(description.replace("mlflow.pyfunc.loaders.code_model", "this"))
    with pytest.raises(DataError, match="the file MLmodel was altered after the model was logged"):
        verify_model(logged)
    with pytest.raises(DatasetError, match="the file MLmodel was altered after the model was logged"):
        ScoringModelDataset(dataset_name="yeast", filepath=str(folder), uri=None).load()


def test_an_invalid_model_address_is_named(journal: Journal) -> None:
    with pytest.raises(DataError, match="'yeast' is not the address of a model"):
        verify_model("yeast")
    with pytest.raises(DataError, match="cannot load the model models:/yeast@champion"):
        verify_model("models:/yeast@champion")
