"""What the cases share."""

from __future__ import annotations

import pytest
from django.utils import timezone


@pytest.fixture
def frozen(monkeypatch):
    """The clock of the pages stands still, so that two of them can be compared byte by byte."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    return now
