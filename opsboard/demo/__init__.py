"""A small shop whose background jobs really run, for `make run` on the embedded stores: something to look at."""

from __future__ import annotations

WORKED = ("default", "mail", "payments", "exports", "reports")
"""The queues that the demo's worker serves, the urgent first."""

UNATTENDED = "archive"
"""A queue with work and nobody to do it."""
