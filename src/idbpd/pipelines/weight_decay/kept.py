"""What came of a weight decay, by content: a search that was killed, or is done again, tries only what is new."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idbpd.datasets.atomic import replacing
from idbpd.experiment.content_store import forget_oldest, kept_file
from idbpd.pipelines.weight_decay.candidate import Candidate

logger = logging.getLogger(__name__)

# Six searches that try all of the default grid; the least recently used goes first.
KEPT = 64
SUFFIX = ".json"


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
        path = kept_file(self._folder, made_with, SUFFIX)
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
        path = kept_file(self._folder, made_with, SUFFIX)
        try:
            with replacing(path) as partial:
                partial.write_text(json.dumps(candidate._asdict()), encoding="utf-8")
        except OSError as error:
            logger.warning("what came of a weight decay could not be kept in %s: %s", path, error)
            return
        forget_oldest(self._folder, SUFFIX, KEPT)
