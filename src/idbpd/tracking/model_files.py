"""The files of a model, and whether they are still those that were logged."""

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
from idbpd.tracking.redaction import redact

SHA256_TAG = "model_sha256"  # of the list below: one value that stands for all files
FILES_TAG = "model_files"  # SHA-256 of every file, as JSON
# MLflow writes this one beside a model when it downloads it.
ADDED_BY_DOWNLOAD = {"registered_model_meta"}
# Python writes this one when a model is loaded, and would later run what it finds there in place of the model's code.
COMPILED = "__pycache__"


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a model, by its path in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and COMPILED not in path.parts)
    hashes = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {name: value for name, value in hashes.items() if name not in ADDED_BY_DOWNLOAD}


def model_tags(folder: Path) -> dict[str, str]:
    """The tags by which an altered file is noticed later."""
    files = json.dumps(file_hashes(folder), sort_keys=True)
    return {SHA256_TAG: hashlib.sha256(files.encode()).hexdigest(), FILES_TAG: files}


def require_unaltered(folder: Path, tags: Mapping[str, str], name: str) -> None:
    """Raise a `DataError` unless the files in ``folder`` are those that the tags were made of."""
    if FILES_TAG not in tags or SHA256_TAG not in tags:
        raise DataError(f"{name} has no tag {SHA256_TAG!r}: it was not logged by this project, and cannot be trusted")
    if hashlib.sha256(tags[FILES_TAG].encode()).hexdigest() != tags[SHA256_TAG]:
        raise DataError(f"{name}: the tags {FILES_TAG!r} and {SHA256_TAG!r} contradict each other; one was altered")
    logged, found = json.loads(tags[FILES_TAG]), file_hashes(folder)
    for file in sorted({*logged, *found}):
        if file not in found:
            raise DataError(f"{name}: the file {file} is gone since the model was logged")
        if file not in logged:
            raise DataError(f"{name}: the file {file} was added since the model was logged")
        if logged[file] != found[file]:
            raise DataError(f"{name}: the file {file} was altered since the model was logged: its SHA-256 is another")


def verify_model(uri: str, target: Path | None = None) -> Path:
    """Fetch a model and return the folder with its files, after making sure that they are those that were logged.

    ``uri`` is ``models:/name@alias``, ``models:/name/version`` or ``models:/model_id``. The files are copied to
    ``target``, or else to a new temporary folder; what is loaded afterwards should be these, and not the address again.

    A `DataError` names the file that was altered, added or removed, or says that the model was never hashed.
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
    _remove_compiled(local)
    require_unaltered(local, tags, uri)
    return local


def verified_copy(folder: Path, tags: Mapping[str, str], target: Path) -> Path:
    """Copy a model that lies in a folder, and make sure that the copy has the files that the tags were made of."""
    copy = Path(shutil.copytree(folder, target / folder.name, ignore=shutil.ignore_patterns(COMPILED)))
    require_unaltered(copy, tags, str(folder))
    return copy


def _remove_compiled(folder: Path) -> None:
    for compiled in list(folder.rglob(COMPILED)):
        shutil.rmtree(compiled) if compiled.is_dir() else compiled.unlink()


def logged_tags(client: MlflowClient, uri: str) -> Mapping[str, str]:
    """The tags of the logged model that an address names, directly or through a registered version."""
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
