"""Save a file, and log it to its MLflow run."""

from typing import Any

from idbpd.datasets import AtomicDataset
from idbpd.tracking.logging import ENTRIES, table_for_page
from idbpd.tracking.runs import track, track_parent

TABLES = ("first", "more")


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

    ``parent`` lists in the same way what to log to the parent run, which people see first. ``table`` says that the
    content is a table for MLflow's page, which shows it in the parent run and puts those of several runs side by side:
    ``first`` for the one that the page begins with, else ``more``.

    If tracking is off, only the file is saved.
    """

    def __init__(
        self,
        *,
        dataset: dict[str, Any],
        run: dict[str, Any],
        log: dict[str, list[str]] | None = None,
        parent: dict[str, list[str]] | None = None,
        table: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the run and the entries; an unknown kind of entry is an error now, not after training."""
        super().__init__(dataset=dataset, metadata=metadata)
        unknown = {*(log or {}), *(parent or {})} - set(ENTRIES)
        if unknown:
            raise ValueError(f"cannot log as {', '.join(sorted(unknown))}; choose from {', '.join(ENTRIES)}")
        if table not in (None, *TABLES):
            raise ValueError(f"cannot log as table {table}; choose from {', '.join(TABLES)}")
        self._run = run
        self._log = log or {}
        self._parent = parent or {}
        self._table = table

    def save(self, data: Any) -> None:
        """Save, then log."""
        super().save(data)
        for kind, keys in self._parent.items():
            track_parent(*ENTRIES[kind]({key: data[key] for key in keys} if keys else data))
        if self._table is not None and len(data):
            track_parent(*table_for_page(data, f"{self.path.stem}.json", first=self._table == TABLES[0]))
        for kind, keys in self._log.items():
            track(self._run, *ENTRIES[kind]({key: data[key] for key in keys} if keys else data))
        track(self._run, "artifact", {"file": self.path.name}, [self.path])
