"""How long texts may be that come from elsewhere."""

from __future__ import annotations

NAME_LENGTH = 512
"""RQ sets no bound on ids and queue names; longer ones are shown and never acted on."""
