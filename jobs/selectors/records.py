"""What SQL has of a job by its id or its operation's, in the queues that a reader may see."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from jobs.ledger.events import operation_of_delivery
from jobs.ledger.failures import digest_of, failed_job
from jobs.ledger.operations import operation_of_job, plain_operation_id
from jobs.models import Delivery, FailedJob, Operation
from jobs.permissions import Visibility
from jobs.selectors.failure_index import indexed_queues
from jobs.selectors.lists import in_visible_queues, recorded_queue_names, visible_connections

OPERATION_LENGTH = 600
"""Characters of the longest operation id (models.Operation)."""
ENTITY_LENGTH = 200
"""Characters of the longest id of a business record there."""
MOST_ABOUT = 20


@dataclass(frozen=True)
class Record:
    """A job that is on record. `operation_id`: its operation's, or the one that a plain job goes by."""

    connection: str
    queue: str
    job_id: str
    operation_id: str

    @property
    def place(self) -> tuple[str, str, str]:
        return self.connection, self.queue, self.job_id


def parse_plain(operation_id: str) -> tuple[str, str] | None:
    """(connection, job id) of the operation id of a plain RQ job; None for any other text."""
    kind, _, rest = operation_id.partition(":")
    connection, colon, job_id = rest.partition(":")
    return (connection, job_id) if kind == "rq" and colon and job_id else None


def record_of(connection: str, queue: str, job_id: str) -> Record | None:
    """The record of a job of one queue, if it delivered an operation, has one of its own, or is among the failures."""
    operation = operation_of_delivery(connection, queue, job_id) or operation_of_job(connection, queue, job_id)
    if operation is not None:
        return _of_operation(operation)
    row = failed_job(connection, queue, job_id)
    return _of_failure(row) if row else None


def records_of(seen: Visibility, text: str, *, connections: list[str] | None = None) -> list[Record]:
    """What is on record under this job id or operation id; four queries, and for a superuser two a connection more."""
    if "\0" in text:
        # PostgreSQL refuses to compare with a NUL; no record can hold one.
        return []
    names = visible_connections(seen) if connections is None else connections
    operations = [_of_operation(one) for one in _operations(seen, text, names)]
    failures = [_of_failure(one) for one in _failures(seen, text, names)]
    known = {one.place for one in operations}
    return operations + [one for one in failures if one.place not in known]


def _operations(seen: Visibility, text: str, connections: list[str]) -> list[Operation]:
    wanted = Q(operation_id=text) | Q(pk__in=_delivered(seen, text, connections))
    for name in connections:
        of_job = Q(connection=name, job_id=text)
        wanted |= of_job if seen.everything else of_job & Q(queue__in=recorded_queue_names(seen, name))
    found = Operation.objects.filter(wanted).order_by("-created_at", "-id")
    return [one for one in found if seen.sees(one.connection, one.queue)]


def operations_about(seen: Visibility, entity: str) -> list[Record]:
    """The newest operations about this business record, in queues that may be seen; one query."""
    if "\0" in entity or len(entity) > ENTITY_LENGTH:
        return []
    found = Operation.objects.filter(entity=entity).exclude(entity="").filter(in_visible_queues(seen))
    return [_of_operation(one) for one in found.order_by("-created_at", "-id")[:MOST_ABOUT]]


def _delivered(seen: Visibility, job_id: str, connections: list[str]) -> list[int]:
    """The operations that a job of this id has delivered."""
    wanted = Q(pk__in=[])
    for name in connections:
        wanted |= Q(connection=name, queue__in=_queues(seen, name), job_id=job_id)
    return list(Delivery.objects.filter(wanted).values_list("operation_id", flat=True)[:MOST_ABOUT])


def _failures(seen: Visibility, job_id: str, connections: list[str]) -> list[FailedJob]:
    digests = [digest_of(name, queue, job_id) for name in connections for queue in _queues(seen, name)]
    return list(FailedJob.objects.filter(digest__in=digests).order_by("-failed_at", "-id"))


def _queues(seen: Visibility, connection: str) -> set[str]:
    known = set(recorded_queue_names(seen, connection))
    return known.union(indexed_queues(connection)) if seen.everything else known


def _of_operation(operation: Operation) -> Record:
    return Record(operation.connection, operation.queue, operation.job_id, operation.operation_id)


def _of_failure(row: FailedJob) -> Record:
    return Record(row.connection, row.queue, row.job_id, plain_operation_id(row.connection, row.job_id))
