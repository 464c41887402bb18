"""Jobs run by hand: as if RQ had a job in this process, without RQ, Redis or a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast

import pytest
from django.db import OperationalError

from jobs.broker import deliveries
from jobs.broker.deliveries import Dispatch, JobInHand
from jobs.ledger import adoption, attempts, effects
from jobs.models import Operation
from jobs.safety import effects as effects_in_jobs
from jobs.safety import running, submitting

_NUMBERS = count(1)
_WRITERS = (adoption, attempts, effects)
_PASSED = (running, effects_in_jobs, submitting)


def job_in_hand(**changes: Any) -> JobInHand:
    """A job of the queue `safe`, with a time limit of three minutes."""
    usual: dict[str, Any] = {
        "queue": "safe",
        "job_id": f"by-hand-{next(_NUMBERS)}",
        "created_at": datetime.now(UTC),
        "execution_id": "",
        "worker_name": "by-hand",
        "timeout_seconds": 180,
        "operation_id": None,
        "is_repeated": False,
        "dispatch": Dispatch(timeout=180),
        "client": cast(Any, None),
    }
    return JobInHand(**(usual | changes))


@contextmanager
def in_hand(**changes: Any) -> Iterator[JobInHand]:
    """For as long as the block lasts, a job is in hand."""
    job = job_in_hand(**changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deliveries, "job_in_hand", lambda: job)
        yield job


@contextmanager
def harm_at(name: str, harm: Callable[[], None]) -> Iterator[None]:
    """For as long as the block lasts, the harm is done whenever that point is passed."""
    with pytest.MonkeyPatch.context() as patch:
        for module in _PASSED:
            patch.setattr(module, "point", lambda passed: harm() if passed == name else None)
        yield


@contextmanager
def database_to_lose() -> Iterator[Callable[[], None]]:
    """A function that takes the database away from the ledger, until the block ends, and says so at once."""
    with pytest.MonkeyPatch.context() as patch:

        def lose() -> None:
            for module in _WRITERS:
                patch.setattr(module, "own_transaction", gone)
            gone()

        yield lose


def gone() -> Any:
    """What every statement comes to."""
    raise OperationalError("the server closed the connection unexpectedly")


def take_over() -> None:
    """What the observer does once the process of an attempt is gone."""
    for operation in Operation.objects.filter(status="running"):
        attempts.take_over(operation.pk, operation.current_attempt, fence=operation.fence, proof="process_gone")


def deliver(job: Callable[..., Any], *args: Any, **changes: Any) -> Any:
    """Run the job once more, without the wait before a retry; what RQ would be given back."""
    Operation.objects.filter(status="retry_wait").update(next_attempt_at=None)
    with in_hand(**changes):
        return job(*args)
