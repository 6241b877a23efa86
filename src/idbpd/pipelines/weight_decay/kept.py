"""What came of a weight decay, by content: a search that was killed, or is done again, tries only what is new."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idbpd.datasets.atomic import replacing
from idbpd.pipelines.provenance import content_key
from idbpd.pipelines.weight_decay.candidate import Candidate

logger = logging.getLogger(__name__)

# Five searches over the default grid and more; the least recently used goes first.
KEPT = 64


class KeptCandidates:
    """A folder of candidates, one file each, named by all that decides their numbers; without a folder none is kept."""

    def __init__(self, folder: Path | None) -> None:
        """Name the folder."""
        self._folder = folder
        self.found = 0

    def get(self, made_with: Mapping[str, Any]) -> Candidate | None:
        """The candidate with these settings; None where there is none."""
        if self._folder is None:
            return None
        path = self._path(self._folder, made_with)
        try:
            candidate = Candidate(**json.loads(path.read_text(encoding="utf-8")))
            os.utime(path)
        except FileNotFoundError:
            return None
        except (OSError, TypeError, ValueError) as error:
            logger.warning("%s is damaged (%s): trying that weight decay again", path, error)
            return None
        self.found += 1
        return candidate

    def put(self, made_with: Mapping[str, Any], candidate: Candidate) -> None:
        """Keep a candidate; a disk that is full costs the next search a solve, not this one its end."""
        if self._folder is None:
            return
        path = self._path(self._folder, made_with)
        try:
            with replacing(path) as partial:
                partial.write_text(json.dumps(candidate._asdict()), encoding="utf-8")
        except OSError as error:
            logger.warning("what came of a weight decay could not be kept in %s: %s", path, error)
            return
        by_age = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in by_age[KEPT:]:
            file.unlink(missing_ok=True)

    @staticmethod
    def _path(folder: Path, made_with: Mapping[str, Any]) -> Path:
        return folder / f"{content_key(made_with)}.json"
