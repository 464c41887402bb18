"""The workers page: who is there, since when, doing what, as far as one may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import Relative, Worker
from jobs.broker.workers import read_workers
from jobs.domain.operations import AttemptOutcome
from jobs.ledger.attempts import LEASE_OVER
from jobs.models import Attempt, Delivery
from jobs.permissions import Visibility
from jobs.selectors.each import read_each
from jobs.selectors.lists import visible_connections

BEAT_OVERDUE = timedelta(seconds=480)
"""An idle worker beats about every 405 s and its record runs out after 480 s (RQ's defaults)."""


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """One worker. `state` is a key of the words table: worker_busy, worker_idle, worker_leaving, worker_dead."""

    connection: str
    worker: Worker
    state: str
    queues: tuple[str, ...]
    """The queues that it serves and that one may see; of others not even the number."""
    jobs: tuple[Relative, ...]


@dataclass(frozen=True, kw_only=True)
class WorkerStore:
    """The workers of one connection, or why they can't be read."""

    connection: str
    unreachable: str
    rows: tuple[WorkerRow, ...]


def workers(visibility: Visibility, now: datetime) -> tuple[WorkerStore, ...]:
    """Every worker that serves a queue one may see. Never raises for a store that does not answer."""
    names = visible_connections(visibility)
    found = read_each(names, read_workers)
    return tuple(_store(name, found[name], visibility, now) for name in names)


def _store(
    name: str,
    found: tuple[tuple[Worker, tuple[Relative, ...]], ...] | BrokerUnavailable,
    visibility: Visibility,
    now: datetime,
) -> WorkerStore:
    if isinstance(found, BrokerUnavailable):
        return WorkerStore(connection=name, unreachable=found.cause, rows=())
    gone = _proved_dead(name, found)
    rows = [_row(name, worker, jobs, visibility, now, is_gone=worker.name in gone) for worker, jobs in found]
    visible = [row for row in rows if row.queues or visibility.everything]
    return WorkerStore(connection=name, unreachable="", rows=tuple(sorted(visible, key=_order)))


def _proved_dead(connection: str, found: tuple[tuple[Worker, tuple[Relative, ...]], ...]) -> set[str]:
    """Workers that say they are busy with jobs whose processes are proved dead: who lives takes notice at once.

    Without that, a worker that was killed would count as busy until its record runs out, after a minute and a half.
    """
    busy = {worker.name: jobs for worker, jobs in found if jobs}
    if not busy:
        return set()
    said = [job for jobs in busy.values() for job in jobs]
    delivered = Delivery.objects.filter(
        connection=connection, queue__in={one.origin or "" for one in said}, job_id__in=[one.job_id for one in said]
    )
    lost = Attempt.objects.filter(
        operation__in=delivered.values("operation"), worker_name__in=busy, outcome=AttemptOutcome.LOST
    ).exclude(death_proof=LEASE_OVER)
    gone = set(lost.values_list("worker_name", "job_id"))
    return {name for name, jobs in busy.items() if all((name, one.job_id) in gone for one in jobs)}


def _row(
    name: str, worker: Worker, jobs: tuple[Relative, ...], visibility: Visibility, now: datetime, *, is_gone: bool
) -> WorkerRow:
    return WorkerRow(
        connection=name,
        worker=worker,
        state="worker_dead" if is_gone else _state(worker, now),
        queues=tuple(queue for queue in worker.queues if visibility.sees(name, queue)),
        jobs=tuple(job for job in jobs if job.origin is not None and visibility.sees(name, job.origin)),
    )


def _state(worker: Worker, now: datetime) -> str:
    overdue = worker.last_heartbeat is None or now - worker.last_heartbeat > BEAT_OVERDUE
    if not worker.exists or worker.died_at or overdue:
        return "worker_dead"
    if worker.shutdown_requested_at:
        return "worker_leaving"
    # "busy" without a visible job would tell of a queue that one may not see only by the word, as any state does.
    return "worker_busy" if worker.state == "busy" else "worker_idle"


def _order(row: WorkerRow) -> tuple[int, str]:
    return (("worker_dead", "worker_leaving", "worker_busy", "worker_idle").index(row.state), row.worker.name)
