"""The settings in ``mlflow.yml``."""

from pydantic import BaseModel, ConfigDict

OUTBOX = "outbox"  # subfolder of `folder` with the entries that are not sent yet


class TrackingSettings(BaseModel):
    """Where runs are tracked, if at all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    tracking_uri: str | None = None
    folder: str = "data/09_tracking"
    experiment: str = "idbpd"
