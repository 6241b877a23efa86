"""Check that the files of a model are the ones that were logged."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from idbpd.errors import DataError
from idbpd.redaction import redact

FILES_TAG = "model_files"  # SHA-256 of every file, as JSON
SHA256_TAG = "model_sha256"  # SHA-256 of that JSON: one value for all files
# MLflow adds this file when it downloads a model.
ADDED_BY_DOWNLOAD = {"registered_model_meta"}
# Python would write this folder when a model is loaded, and run altered code from it in place of the model's code. A
# file of that name keeps it from both, so a folder is what somebody planted. Older models have no such file; their
# folders are removed from the copy that is loaded.
COMPILED = "__pycache__"
WHY_COMPILED = "This file keeps Python from writing compiled code here, and from running it.\n"


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a model, by its path in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    hashes = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {name: value for name, value in hashes.items() if name not in ADDED_BY_DOWNLOAD}


def model_tags(folder: Path) -> dict[str, str]:
    """The tags that later reveal an altered file."""
    files = json.dumps(file_hashes(folder), sort_keys=True)
    return {SHA256_TAG: hashlib.sha256(files.encode()).hexdigest(), FILES_TAG: files}


def require_unaltered(folder: Path, tags: Mapping[str, str], name: str) -> None:
    """Raise a `DataError` unless the files in ``folder``, a copy of the model, match the hashes in the tags."""
    if FILES_TAG not in tags or SHA256_TAG not in tags:
        raise DataError(f"{name} has no tag {SHA256_TAG!r}: it was not logged by this project and cannot be trusted")
    if hashlib.sha256(tags[FILES_TAG].encode()).hexdigest() != tags[SHA256_TAG]:
        raise DataError(f"{name}: the tags {FILES_TAG!r} and {SHA256_TAG!r} contradict each other; one was altered")
    logged = json.loads(tags[FILES_TAG])
    if COMPILED not in logged:
        _remove_compiled(folder)
    found = file_hashes(folder)
    for file in sorted({*logged, *found}):
        if file not in found:
            raise DataError(f"{name}: the file {file} was removed after the model was logged")
        if file not in logged:
            raise DataError(f"{name}: the file {file} was added after the model was logged")
        if logged[file] != found[file]:
            raise DataError(f"{name}: the file {file} was altered after the model was logged: its SHA-256 differs")


def verify_model(uri: str, target: Path | None = None) -> Path:
    """Download a model, check that its files are the ones that were logged, and return their folder.

    ``uri`` is ``models:/name@alias``, ``models:/name/version`` or ``models:/model_id``. The files are copied to
    ``target`` or to a new temporary folder. Load the model from this folder, not from the address, which could change.

    A `DataError` names the file that was altered, added or removed, or says that the model has no hashes.
    """
    if target is None:
        target = Path(mkdtemp(prefix="idbpd-model-"))
        try:
            return verify_model(uri, target)
        except BaseException:
            shutil.rmtree(target)
            raise
    try:
        tags = logged_tags(MlflowClient(), uri)
        local = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(target)))
    except (MlflowException, OSError) as error:
        raise DataError(redact(f"cannot load the model {uri}: {error}")) from error
    require_unaltered(local, tags, uri)
    return local


def verified_copy(folder: Path, tags: Mapping[str, str], target: Path) -> Path:
    """Copy a model folder, and check the copy against the hashes in the tags."""
    copy = Path(shutil.copytree(folder, target / folder.name))
    require_unaltered(copy, tags, str(folder))
    return copy


def _remove_compiled(folder: Path) -> None:
    for compiled in list(folder.rglob(COMPILED)):
        shutil.rmtree(compiled) if compiled.is_dir() else compiled.unlink()


def logged_tags(client: MlflowClient, uri: str) -> Mapping[str, str]:
    """The tags of the model at an address, which names a logged model or a registered version."""
    if match := re.fullmatch(r"models:/(m-[0-9a-f]+)", uri):
        return dict(client.get_logged_model(match[1]).tags)
    if match := re.fullmatch(r"models:/([^/@]+)@(.+)", uri):
        version = client.get_model_version_by_alias(match[1], match[2])
    elif match := re.fullmatch(r"models:/([^/@]+)/(\d+)", uri):
        version = client.get_model_version(match[1], match[2])
    else:
        raise DataError(
            f"{uri!r} is not the address of a model: use models:/name@alias, models:/name/version or models:/m-..."
        )
    if SHA256_TAG in version.tags:
        return dict(version.tags)
    source = re.fullmatch(r"models:/(m-[0-9a-f]+)", str(version.source))
    return dict(client.get_logged_model(source[1]).tags) if source else {}
