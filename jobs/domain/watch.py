"""What the observer says of its work on one connection, as it is stored and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class WatchReport:
    """One connection's part of ObserverState.report. It names no queue: who may see the report may not see them all."""

    passed_at: datetime | None = None
    """When it was last looked at for new failures; how far the index is behind is counted from here."""
    swept_at: datetime | None = None
    """When everything there is was last gone through to its end; None while the index is filled for the first time."""
    sweep_seconds: float | None = None
    """How long that took."""
    done: int = 0
    """Entries gone through by the sweep that goes on, or by the last one."""
    total: int = 0
    """Entries there were when that sweep began."""
    error: str = ""
    """What keeps it from being read, in one sentence with the remedy where there is one; '' when nothing does."""

    @property
    def is_filling(self) -> bool:
        """Whether failures from before the observer's first start may still be missing from the index."""
        return self.swept_at is None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, with times in ISO 8601."""
        return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> WatchReport:
        """What `to_json` made; what is missing, or was written by another release, is as if never said."""
        known = {name: one for name, one in stored.items() if name in cls.__dataclass_fields__}
        times = {name: datetime.fromisoformat(known[name]) for name in ("passed_at", "swept_at") if known.get(name)}
        return cls(**{**known, **times})
