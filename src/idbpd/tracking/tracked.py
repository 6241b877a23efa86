"""Save a file, and log it to its MLflow run."""

from typing import Any

from idbpd.datasets import AtomicDataset
from idbpd.tracking.logging import ENTRIES
from idbpd.tracking.runs import track, track_parent


class TrackedDataset(AtomicDataset):
    """Saves a file with any Kedro dataset, and logs it to the child run ``run``.

    The file becomes an artifact. ``log`` lists what else to log from its content: a kind of entry and the keys to use
    (an empty list means all keys):

    ```yaml
    certificate:
      type: idbpd.tracking.TrackedDataset
      dataset: {type: json.JSONDataset, filepath: data/08_reporting/certificate.json}
      run: {dataset: multi_digits, method: idbpd, seed: 0}
      log: {final_metrics: [objective, infeasibility], tags: [status]}
    ```

    ``parent`` lists in the same way what to log to the parent run, which people see first.

    If tracking is off, only the file is saved.
    """

    def __init__(
        self,
        *,
        dataset: dict[str, Any],
        run: dict[str, Any],
        log: dict[str, list[str]] | None = None,
        parent: dict[str, list[str]] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the run and the entries; an unknown kind of entry is an error now, not after training."""
        super().__init__(dataset=dataset, metadata=metadata)
        unknown = {*(log or {}), *(parent or {})} - set(ENTRIES)
        if unknown:
            raise ValueError(f"cannot log as {', '.join(sorted(unknown))}; choose from {', '.join(ENTRIES)}")
        self._run = run
        self._log = log or {}
        self._parent = parent or {}

    def save(self, data: Any) -> None:
        """Save, then log."""
        super().save(data)
        for kind, keys in self._parent.items():
            track_parent(*ENTRIES[kind]({key: data[key] for key in keys} if keys else data))
        for kind, keys in self._log.items():
            track(self._run, *ENTRIES[kind]({key: data[key] for key in keys} if keys else data))
        track(self._run, "artifact", {"file": self.path.name}, [self.path])
