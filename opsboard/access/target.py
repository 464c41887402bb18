"""What a request was sent to, read in both modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_whole_url(environ: Mapping[str, Any]) -> bool:
    """Only to a proxy does a client send a whole URL; gunicorn hands the request's target over as RAW_URI."""
    return not str(environ.get("RAW_URI", "/")).startswith("/")
