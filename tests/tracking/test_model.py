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
from idbpd.mtl import ExportedModel, FeatureScaling, LabelProbabilities, SharedNetwork
from idbpd.tracking import TrackedModelDataset, verify_model
from idbpd.tracking.journal import Journal
from idbpd.tracking.model_files import FILES_TAG, SHA256_TAG
from idbpd.tracking.runs import child_run
from idbpd.tracking.scoring import ScoringModelDataset, VerifiedModel
from tests.tracking.conftest import RUN

FEATURES = ("age", "weight", "size of shoe", "pixel=1")
TASKS = {"urgent": ("stroke", "0"), "other": ("a", "b", "c")}


def _model() -> ExportedModel:
    scaling = FeatureScaling(torch.arange(4.0), torch.arange(1.0, 5.0))
    network = LabelProbabilities(SharedNetwork(4, 5, (2, 3)), scaling)
    return ExportedModel(network, FEATURES, TASKS, torch.randn(2, 4))


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
    assert list(answer.columns) == ["urgent:stroke", "urgent:0", "other:a", "other:b", "other:c"]
    np.testing.assert_allclose(answer.to_numpy(), model.network(rows).detach().numpy(), rtol=1e-5, atol=1e-7)


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
    example = torch.randn(2, 4, dtype=torch.float64)
    network = LabelProbabilities(OtherNetwork().double())
    network.train()
    network(torch.randn(50, 4, dtype=torch.float64))  # so that the normalisation has something to remember
    TrackedModelDataset(filepath=str(folder), run=RUN).save(ExportedModel(network, FEATURES, TASKS, example))
    model = mlflow.pyfunc.load_model(str(folder))
    for rows in (1, 7):
        features = torch.randn(rows, 4, dtype=torch.float64)
        answer = model.predict(pd.DataFrame(features.numpy(), columns=list(FEATURES)))
        expected = network.eval()(features).detach().numpy()
        # The exported graph may round in another order: on some processors the last bit differs.
        np.testing.assert_allclose(answer.to_numpy(), expected, rtol=1e-12)


def test_a_network_that_cannot_be_served_is_named(folder: Path) -> None:
    class Branching(nn.Module):
        def forward(self, features: Tensor) -> tuple[Tensor]:
            return (features if features.sum() > 0 else -features,)

    model = ExportedModel(LabelProbabilities(Branching()), FEATURES, TASKS, torch.randn(2, 4))
    with pytest.raises(DatasetError, match="the network LabelProbabilities cannot be exported for serving"):
        TrackedModelDataset(filepath=str(folder), run=RUN).save(model)
    assert not list(folder.parent.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(age=np.nan), "row 1: feature 'age' is missing or not finite"),
        (lambda frame: frame.assign(age=[1.0, np.inf]), "row 2: feature 'age' is missing or not finite"),
        (lambda frame: frame.drop(columns="age"), r"missing inputs \['age'\]"),
        (lambda frame: frame.assign(age="old"), "Incompatible input types for column age"),
        (lambda frame: frame.to_numpy(), "missing inputs"),
    ],
)
def test_a_bad_table_is_refused(folder: Path, change: object, message: str) -> None:
    TrackedModelDataset(filepath=str(folder), run=RUN).save(_model())
    model = mlflow.pyfunc.load_model(str(folder))
    assert callable(change)
    with pytest.raises(MlflowException, match=message):
        model.predict(change(model.input_example))


def test_it_is_a_standard_model_without_a_pickle(logged: str) -> None:
    info = mlflow.models.get_model_info(logged)
    assert info.signature is not None
    assert info.signature.inputs.input_names() == list(FEATURES)
    assert info.signature.outputs.input_names()[0] == "urgent:stroke"
    files = [path for path in _stored(logged).rglob("*") if path.is_file()]
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


def test_compiled_code_beside_a_model_is_never_run(logged: str, folder: Path, tmp_path: Path) -> None:
    """Python prefers it to the source, and with this kind of it does not even look whether the source is older."""
    planted = tmp_path / "planted.py"
    planted.write_text("raise AssertionError('planted code was run')")
    for place in (_stored(logged), folder):
        compiled = cache_from_source(str(place / "served_model.py"))
        py_compile.compile(str(planted), compiled, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    with pytest.raises(MlflowException, match="planted code"):
        mlflow.pyfunc.load_model(logged)
    assert VerifiedModel.at(logged).features == FEATURES
    assert not list(verify_model(logged).rglob("*.pyc"))
    last = ScoringModelDataset(dataset_name="yeast", filepath=str(folder), uri=None)
    assert last.load().features == FEATURES


def test_an_invalid_model_address_is_named(journal: Journal) -> None:
    with pytest.raises(DataError, match="'yeast' is not the address of a model"):
        verify_model("yeast")
    with pytest.raises(DataError, match="cannot load the model models:/yeast@champion"):
        verify_model("models:/yeast@champion")
