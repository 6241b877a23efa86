"""Datasets whose content is also an entry of the MLflow run it belongs to."""

from typing import Any

from idbpd.datasets import AtomicDataset
from idbpd.tracking.logging import ENTRIES
from idbpd.tracking.runs import track


class TrackedDataset(AtomicDataset):
    """Saves a file with any Kedro dataset, and logs it to the child run that ``run`` names.

    The file becomes an artifact. ``log`` says what else its content is, with the keys to take from it (all when none
    are named):

    ```yaml
    certificate:
      type: idbpd.tracking.TrackedDataset
      dataset: {type: json.JSONDataset, filepath: data/08_reporting/certificate.json}
      run: {dataset: multi_digits, method: idbpd, seed: 0}
      log: {final_metrics: [objective, infeasibility], tags: [status]}
    ```

    Where nothing is tracked it is just the file.
    """

    def __init__(
        self,
        *,
        dataset: dict[str, Any],
        run: dict[str, Any],
        log: dict[str, list[str]] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Refuse a kind of entry that does not exist now, not after training."""
        super().__init__(dataset=dataset, metadata=metadata)
        unknown = set(log or {}) - set(ENTRIES)
        if unknown:
            raise ValueError(f"cannot log as {', '.join(sorted(unknown))}; choose from {', '.join(ENTRIES)}")
        self._run = run
        self._log = log or {}

    def save(self, data: Any) -> None:
        """Save, then log."""
        super().save(data)
        for kind, keys in self._log.items():
            track(self._run, *ENTRIES[kind]({key: data[key] for key in keys} if keys else data))
        track(self._run, "artifact", {"file": self.path.name}, [self.path])
