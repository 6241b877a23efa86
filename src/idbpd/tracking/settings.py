"""What ``mlflow.yml`` can say."""

from pydantic import BaseModel, ConfigDict

OUTBOX = "outbox"  # in the folder below: what is to be tracked and not yet sent


class TrackingSettings(BaseModel):
    """Where runs are tracked, if at all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    tracking_uri: str | None = None
    folder: str = "data/09_tracking"
    experiment: str = "idbpd"
