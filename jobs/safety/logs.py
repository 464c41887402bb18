"""What the layer tells the log: through structlog as the project has configured it, and never at an effect's cost."""

from __future__ import annotations

from typing import Any

import structlog

from jobs.safety.classifying import JOB_TIMEOUT, ancestry

_log = structlog.get_logger("opsboard.jobs")


def tell(event: str, **fields: Any) -> None:
    """A line of level info. Where it can't be written nothing else changes: a full disk is no reason to call twice."""
    _write("info", event, fields)


def warn(event: str, **fields: Any) -> None:
    """The same of level warning."""
    _write("warning", event, fields)


def _write(level: str, event: str, fields: dict[str, Any]) -> None:
    try:
        getattr(_log, level)(event, **fields)
    except Exception as error:
        # Whatever the project's processors and streams raise; but RQ's time-out may strike here as anywhere.
        if JOB_TIMEOUT in ancestry(error):
            raise
