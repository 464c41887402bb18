"""Where the files of exports are: each under a name made of its export's id, in a folder that no web server serves."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def folder() -> Path:
    """The folder of all files, made if it is not there: for its owner and his group only."""
    made: Path = settings.OPSBOARD_EXPORTS_DIR
    made.mkdir(mode=0o750, parents=True, exist_ok=True)
    return made


def path_of(export_id: int) -> Path:
    """The file of an export, there or not."""
    return folder() / f"export-{export_id:d}.csv"
