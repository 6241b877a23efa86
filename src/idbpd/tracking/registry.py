"""The model registry: the versions of a model, and which one is in use.

A data set has one registered model, ``idbpd-<data set>``. A retraining adds a version with the alias ``challenger``.
The version in use has the alias ``champion``. Moving an alias is one write to the registry, so even after a crash there
is exactly one champion, the old or the new.
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
VERDICT = "verdict"  # promoted or rejected; missing if the retraining was interrupted
PROMOTED_AT = "promoted_at"
REPLACED = "replaced"  # the version that was the champion before
# The version that models are measured by while this one is the champion: the last one that was shown to be better
# than the one before it, which may be this one.
YARDSTICK = "yardstick"
FINGERPRINT = "fingerprint."
CERTIFICATE = "certificate."


class Version(NamedTuple):
    """A version of a registered model, with the tags of its retraining."""

    number: int
    created: datetime
    run_id: str
    model_id: str
    tags: dict[str, str]
    is_champion: bool
    is_challenger: bool

    @property
    def verdict(self) -> str:
        """Promoted, rejected, or unfinished if it was never judged."""
        return self.tags.get(VERDICT, "unfinished")

    @property
    def yardstick(self) -> int:
        """The version that models are measured by while this one is the champion."""
        return int(self.tags.get(YARDSTICK, self.number))

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of the version's data, parameters, code and lock file."""
        return {name.removeprefix(FINGERPRINT): tag for name, tag in self.tags.items() if name.startswith(FINGERPRINT)}


def registered_name(dataset: str) -> str:
    """The name of a data set's registered model.

    >>> registered_name("multi_digits")
    'idbpd-multi_digits'
    """
    return f"idbpd-{dataset}"


def versions(name: str) -> list[Version]:
    """All versions, newest first; empty if nothing is registered yet."""
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
    """The newest version with a verdict, promoted or rejected."""
    return next((version for version in versions(name) if VERDICT in version.tags), None)


def register(name: str, model_id: str, run_id: str, tags: Mapping[str, Any]) -> int:
    """Register a logged model as a new version with the alias challenger; it also gets the model's tags and hashes."""
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
    """Make a version the champion; refused if the present champion is not ``instead_of``."""
    present = champion_of(name)
    if (present.number if present else None) != instead_of:
        raise ConfigurationError(
            f"the champion of {name} was {_shown(instead_of)} when the new model was compared with it, but is now "
            f"{_shown(present.number if present else None)}; nothing was promoted: retrain again"
        )
    tag(name, number, {PROMOTED_AT: now(), REPLACED: instead_of or ""})
    MlflowClient().set_registered_model_alias(name, CHAMPION, str(number))


def now() -> str:
    """The present time in UTC, as text for tags and records."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(number: int | None) -> str:
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
