"""Save several models of one run, each with a folder and a child run of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.tracking.model import TrackedModelDataset
from idbpd.tracking.tracked import TrackedDataset


class TrackedPointsDataset(AbstractDataset[Mapping[str, TrackedPoint], dict[str, Path]]):
    """Saves the results of every point to ``<path>/<point>/<file>``, and logs them to the child run of the point.

    The child run is ``run`` with the tags of the point added. ``results`` says for each result its file, the dataset
    that writes it, and what to log of it (see `TrackedDataset`); a result without a dataset is a model:

    ```yaml
    frontier_points:
      type: idbpd.tracking.TrackedPointsDataset
      path: data/06_models/multi_digits/frontier
      run: {dataset: multi_digits, method: idbpd, seed: 0}
      results:
        certificate: {file: certificate.json, dataset: {type: json.JSONDataset}, log: {final_metrics: [objective]}}
        model: {file: model}
    ```
    """

    def __init__(
        self,
        *,
        path: str,
        run: dict[str, Any],
        results: dict[str, dict[str, Any]],
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the folder, the run and the results; a wrong dataset is an error now, not after training."""
        self._path = Path(path)
        self._run = run
        self._results = results
        self.metadata = metadata
        for name in results:
            self._dataset(name, "any", {})

    @property
    def path(self) -> Path:
        """The folder of all points."""
        return self._path

    def save(self, data: Mapping[str, TrackedPoint]) -> None:
        """Save and log every result of every point."""
        for point, (tags, results) in data.items():
            for name, result in results.items():
                self._dataset(name, point, tags).save(result)

    def load(self) -> dict[str, Path]:
        """The folder of every point that was saved here, by its name."""
        return {folder.name: folder for folder in sorted(self._path.iterdir()) if folder.is_dir()}

    def _dataset(self, result: str, point: str, tags: Mapping[str, str]) -> TrackedDataset | TrackedModelDataset:
        config, run = self._results[result], {**self._run, **tags}
        filepath = str(self._path / point / config["file"])
        if "dataset" not in config:
            return TrackedModelDataset(filepath=filepath, run=run)
        dataset = {**config["dataset"], "filepath": filepath}
        return TrackedDataset(dataset=dataset, run=run, log=config.get("log"))

    def _exists(self) -> bool:
        return self._path.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path), **self._run}
