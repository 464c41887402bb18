"""Placeholder."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.reports import Report


def run_storm(folder: Path, url: str, *, minutes: float, seed: int) -> Report:
    raise NotImplementedError
