"""Leading: of several observers one works, and the others wait until it has stopped or is lost."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from jobs.ledger import observing

RENEWED_EVERY = timedelta(seconds=5)
"""While a pass goes on; each pass renews it besides."""


@dataclass
class Lease:
    """One observer's claim to lead. All that it writes is safe to be written twice: the lease only saves work."""

    holder: UUID = field(default_factory=uuid4)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    held_at: datetime | None = None
    """When it was last renewed; None while another leads."""

    def hold(self, now: datetime, said: Mapping[str, Any]) -> bool:
        """Renew it, with what there is to say (observing.keep_lease), or take it. False while another leads."""
        kept = self.held_at is not None and observing.keep_lease(self.holder, now, said)
        is_held = kept or observing.hold_lease(self.holder, now, host=self.host, pid=self.pid)
        self.held_at = now if is_held else None
        return is_held

    def is_due(self, now: datetime) -> bool:
        """Whether it is time to renew it, in the middle of a pass."""
        return self.held_at is None or now - self.held_at >= RENEWED_EVERY

    def give_back(self, said: Mapping[str, Any]) -> None:
        """Stop leading, so that another can begin at once."""
        if self.held_at is not None:
            observing.give_back_lease(self.holder, said)
            self.held_at = None
