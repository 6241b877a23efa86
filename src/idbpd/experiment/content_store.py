"""Folders of results that are kept by content, so that the same is not computed twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idbpd.experiment.provenance import content_key


def kept_file(folder: Path, made_with: Mapping[str, Any], suffix: str) -> Path:
    """Where the result of these settings is kept: another name for anything that decides its numbers."""
    return folder / f"{content_key(made_with)}{suffix}"


def forget_oldest(folder: Path, suffix: str, kept: int) -> None:
    """Leave so many files of a kind, those that were used last."""
    by_age = sorted(folder.glob(f"*{suffix}"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in by_age[kept:]:
        file.unlink(missing_ok=True)
