"""Whether a long job should end at its next stage: its worker is to stop, or an operator wants it cancelled."""

from __future__ import annotations

import time

from jobs.broker.deliveries import JobInHand
from jobs.broker.errors import BrokerUnavailable
from jobs.ledger.attempts import is_cancel_requested
from jobs.safety.running import current

POLL_SECONDS = 1.0


def should_stop() -> bool:
    """Whether to end early; asked between two stages, as often as one likes: the stores are asked once a second.

    RQ's parent process notes a warm shutdown in its worker's hash, where the job can see it. A job that ends early says
    so by `raise StopRequested`: it is taken up again, and that counts as no failed attempt. Outside a job: MisuseError.
    """
    running = current()
    if running.is_to_stop or time.monotonic() - running.looked_at < POLL_SECONDS:
        return running.is_to_stop
    running.looked_at = time.monotonic()
    running.is_to_stop = _worker_stops(running.job) or is_cancel_requested(running.operation)
    return running.is_to_stop


def _worker_stops(job: JobInHand) -> bool:
    try:
        return job.worker_field("shutdown_requested_date") is not None
    except BrokerUnavailable:
        # A store that is silent asks nobody to stop.
        return False
