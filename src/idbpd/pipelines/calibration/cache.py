"""Calibrations by content: the same data, model, seed and budget are not calibrated twice.

What is kept is what the solver found; slack and limits set by hand are applied afterwards, so that a run with others
finds it too.
"""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from idbpd.datasets.atomic import replacing
from idbpd.experiment.content_store import forget_oldest, kept_file
from idbpd.experiment.provenance import tensors_sha256

logger = logging.getLogger(__name__)

# Enough for a few seeds or settings that are compared; the least recently used goes first.
KEPT = 16
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Calibration:
    """What a calibration leaves behind beside its weights."""

    status: str
    steps: int
    stationarity: float
    seconds: float
    made: str  # when, as ISO 8601


class CalibrationCache:
    """A folder of calibrations, one file each, named by all that decides their numbers."""

    def __init__(self, folder: Path) -> None:
        """Name the folder."""
        self._folder = folder

    def get(self, made_with: Mapping[str, Any]) -> tuple[Calibration, dict[str, Tensor]] | None:
        """The calibration with these settings; None where there is none that can be trusted."""
        path = kept_file(self._folder, made_with, SUFFIX)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata()
                weights = {name: file.get_tensor(name) for name in json.loads(metadata["names"])}
            calibration = Calibration(**json.loads(metadata["calibration"]))
            intact = metadata["sha256"] == tensors_sha256(weights)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            logger.warning("%s is damaged (%s): calibrating again", path, error)
            return None
        if not intact:
            logger.warning("%s is damaged (its weights do not match their checksum): calibrating again", path)
            return None
        os.utime(path)
        return calibration, weights

    def put(self, made_with: Mapping[str, Any], calibration: Calibration, weights: Mapping[str, Tensor]) -> None:
        """Keep a calibration; a disk that is full costs the next run a calibration, not this one its end."""
        on_host = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
        metadata = {
            "calibration": json.dumps(asdict(calibration)),
            "names": json.dumps(list(on_host)),  # safetensors keeps them in an order of its own
            "sha256": tensors_sha256(on_host),
            "made_with": json.dumps(dict(made_with)),  # for people who look
        }
        path = kept_file(self._folder, made_with, SUFFIX)
        try:
            with replacing(path) as partial:
                save_file(on_host, partial, metadata=metadata)
        except (OSError, SafetensorError) as error:
            logger.warning("the calibration could not be kept in %s: %s", path, error)
            return
        forget_oldest(self._folder, SUFFIX, KEPT)
