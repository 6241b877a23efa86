"""Where methods were compared: data sets with their settings, in the paper's order."""

from collections.abc import Iterable

import pandas as pd

from idbpd.pipelines.report.looks import DATASETS


def places(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Data sets with their settings."""
    found = list(dict.fromkeys(zip(table["dataset"], table["setting"], strict=True)))
    order = ordered({dataset for dataset, _ in found})
    settings = list(dict.fromkeys(setting for _, setting in found))
    return [(dataset, setting) for setting in settings for dataset in order if (dataset, setting) in found]


def ordered(datasets: Iterable[str]) -> list[str]:
    """Data sets in the paper's order, then others by name."""
    known = list(DATASETS)
    return sorted(datasets, key=lambda name: (known.index(name) if name in known else len(known), name))
