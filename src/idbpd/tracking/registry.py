"""The registered models: which versions there are, which one is in use, and who comes next.

A data set has one registered model, ``idbpd-<data set>``. A retraining adds a version, called ``challenger`` until the
next one; the version in use is called ``champion``. To move that name is one write of the registry: whatever happens
around it, there is always exactly one champion, the old or the new.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, RESOURCE_DOES_NOT_EXIST, ErrorCode

from idbpd.errors import ConfigurationError

CHAMPION, CHALLENGER = "champion", "challenger"
# Tags of a version.
VERDICT = "verdict"  # promoted or rejected; a version without one was left behind by a retraining that did not end
PROMOTED_AT = "promoted_at"
REPLACED = "replaced"  # the version that was the champion before
FINGERPRINT = "fingerprint."
CERTIFICATE = "certificate."


class Version(NamedTuple):
    """A version of a registered model, with what its retraining said of it."""

    number: int
    created: datetime
    run_id: str
    model_id: str
    tags: dict[str, str]
    is_champion: bool
    is_challenger: bool

    @property
    def verdict(self) -> str:
        """Promoted or rejected, or that it was never judged."""
        return self.tags.get(VERDICT, "unfinished")

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of what it was made from."""
        return {name.removeprefix(FINGERPRINT): at for name, at in self.tags.items() if name.startswith(FINGERPRINT)}


def registered_name(dataset: str) -> str:
    """The name under which the models of a data set are registered.

    >>> registered_name("multi_digits")
    'idbpd-multi_digits'
    """
    return f"idbpd-{dataset}"


def versions(name: str) -> list[Version]:
    """All versions, the newest first; none where nothing is registered yet."""
    client = MlflowClient()
    try:
        aliases: dict[str, str] = client.get_registered_model(name).aliases
    except MlflowException as error:
        if error.error_code == ErrorCode.Name(RESOURCE_DOES_NOT_EXIST):
            return []
        raise
    found: list[ModelVersion] = []
    token = None
    while True:
        page = client.search_model_versions(f"name = '{name}'", page_token=token)
        found += page
        token = page.token
        if not token:
            break
    made = [_version(version, aliases) for version in found]
    return sorted(made, key=lambda version: version.number, reverse=True)


def champion_of(name: str) -> Version | None:
    """The version in use."""
    return next((version for version in versions(name) if version.is_champion), None)


def last_judged(name: str) -> Version | None:
    """The newest version that a retraining ended with, promoted or rejected."""
    return next((version for version in versions(name) if VERDICT in version.tags), None)


def register(name: str, model_id: str, run_id: str, tags: Mapping[str, Any]) -> int:
    """A new version of a logged model, as the challenger; it has the tags of the model too, its hashes among them."""
    client = MlflowClient()
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise
    own = client.get_logged_model(model_id).tags
    texts = {**own, **{key: str(value) for key, value in tags.items()}}
    made = client.create_model_version(name, f"models:/{model_id}", run_id=run_id, tags=texts, model_id=model_id)
    client.set_registered_model_alias(name, CHALLENGER, made.version)
    return int(made.version)


def tag(name: str, number: int, tags: Mapping[str, Any]) -> None:
    """Add tags to a version."""
    client = MlflowClient()
    for key, value in tags.items():
        client.set_model_version_tag(name, str(number), key, str(value))


def make_champion(name: str, number: int, instead_of: int | None) -> None:
    """Give the name of the champion to a version; refused when it is no longer ``instead_of`` that has it."""
    present = champion_of(name)
    if (present.number if present else None) != instead_of:
        raise ConfigurationError(
            f"the champion of {name} was {_called(instead_of)} when the new model was compared with it, and is "
            f"{_called(present.number if present else None)} now; nothing was promoted: retrain again"
        )
    tag(name, number, {PROMOTED_AT: now(), REPLACED: instead_of or ""})
    MlflowClient().set_registered_model_alias(name, CHAMPION, str(number))


def now() -> str:
    """The present moment, as tags and records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _called(number: int | None) -> str:
    return "none" if number is None else f"version {number}"


def _version(version: ModelVersion, aliases: Mapping[str, str]) -> Version:
    return Version(
        number=int(version.version),
        created=datetime.fromtimestamp(version.creation_timestamp / 1000, UTC),
        run_id=str(version.run_id),
        model_id=str(version.model_id),
        tags=dict(version.tags),
        is_champion=str(aliases.get(CHAMPION)) == str(version.version),
        is_challenger=str(aliases.get(CHALLENGER)) == str(version.version),
    )
