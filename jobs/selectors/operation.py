"""One operation: everything that is on record of it, wherever it is kept, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import User

from jobs import ledger
from jobs.broker.details import find_origins, read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.evidence import evidence_of
from jobs.broker.records import JobDetail, Result
from jobs.domain.findings import Judgement, judge
from jobs.domain.links import Link
from jobs.judging import declared_type, function_path
from jobs.ledger.failures import failed_job
from jobs.ledger.operations import operation_of_job
from jobs.models import AuditEntry, FailedJob, JobType, ObservedAttempt, Operation, Review
from jobs.permissions import Permission, Visibility, may
from jobs.selectors.lists import recorded_queue_names, visible_connections
from jobs.selectors.records import Record, parse_plain, records_of
from jobs.selectors.review_head import Said, links_of, said_in, time_of
from jobs.selectors.stored import hidden_since, stored_error, stored_line
from jobs.selectors.texts import ErrorText, Masks, masks_of, one_line

MOST_ACTS = 50
MOST_RUNS = 100
"""Of each the newest are told; more make no story that anybody reads."""

_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run that RQ recorded, as it was observed or as Redis still has it."""

    started_at: datetime | None
    ended_at: datetime | None
    worker_name: str
    line: str
    """Its error in one line, masked."""
    error: ErrorText | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happened. `state`: a key of the words table; and what there is to say of it, by its kind."""

    at: datetime | None
    kind: str
    """created, queued, run, running, act, review, said, or left."""
    state: str
    run: Run | None = None
    entry: AuditEntry | None = None
    review: Review | None = None
    said: Said | None = None


@dataclass(frozen=True, kw_only=True)
class OperationPage:
    """The whole page. `silence`: why the job store can't be asked; '' when it answered."""

    operation_id: str
    connection: str
    queue: str
    job_id: str
    job_type: str
    operation: Operation | None
    state: str
    judgement: Judgement | None
    """How the job stands in Redis, if it is there."""
    silence: str
    steps: tuple[Step, ...]
    only_acts: int
    only_runs: int
    """So many of the newest are told, where there are more; 0 when all are."""
    open_review: Review | None
    links: tuple[Link, ...]
    may_read_audit: bool
    left_at: datetime | None
    """When Redis was seen to have it no more."""


def operation_page(user: User, seen: Visibility, operation_id: str, *, now: datetime) -> OperationPage | None:
    """The page of what this id names, or None when there is nothing that this person may see.

    Raises BrokerUnavailable when only the job store could say whether there is.
    """
    found = _find(seen, operation_id)
    if found is None:
        return None
    record, operation = found
    row, (detail, silence) = failed_job(*record.place), _read(record, now)
    if operation is not None:
        # What Redis or the index has by now may be of another job that was given the same id.
        row = row if row and row.created_at == operation.job_created_at else None
        detail = detail if detail and detail.job.created_at == operation.job_created_at else None
    if operation is None and row is None and detail is None and not silence:
        return None
    reviews = list(operation.reviews.order_by("opened_at", "pk")) if operation else []
    open_review = next((one for one in reviews if one.closed_at is None), None)
    judgement = judge(evidence_of(detail), now) if detail else None
    acts = list(ledger.entries_of_job(*record.place, limit=MOST_ACTS + 1))
    kept = _kept(row, detail)
    told = _steps(row, detail, kept[: _most_kept(detail)], acts[:MOST_ACTS], reviews)
    return OperationPage(
        operation_id=record.operation_id,
        connection=record.connection,
        queue=record.queue,
        job_id=record.job_id,
        job_type=_job_type(operation, row, detail),
        operation=operation,
        state=_state(operation, row, judgement, open_review),
        judgement=judgement,
        silence=silence,
        steps=tuple(sorted(told, key=lambda step: step.at or _LAST)),
        only_acts=MOST_ACTS if len(acts) > MOST_ACTS else 0,
        only_runs=MOST_RUNS if len(kept) > _most_kept(detail) else 0,
        open_review=open_review,
        links=links_of(record.operation_id, operation or _named(record, _job_type(operation, row, detail))),
        may_read_audit=may(user, Permission.VIEW_AUDIT),
        left_at=row.left_at if row and not detail and not silence else None,
    )


# Where it is ----------------------------------------------------------------------------------------------------------


def _find(seen: Visibility, operation_id: str) -> tuple[Record, Operation | None] | None:
    """By an operation's own id; else, of a plain job, by what is on record of it; else by what Redis has.

    An operation that may not be seen is none, whatever id it goes by: what is found then is of another queue.
    """
    operation = Operation.objects.filter(operation_id=operation_id).first()
    if operation is not None and seen.sees(operation.connection, operation.queue):
        return Record(operation.connection, operation.queue, operation.job_id, operation_id), operation
    place = _place_of_plain(seen, operation_id)
    if place is None:
        return None
    operation = operation_of_job(*place)
    return Record(*place, operation.operation_id if operation else operation_id), operation


def _place_of_plain(seen: Visibility, operation_id: str) -> tuple[str, str, str] | None:
    plain = parse_plain(operation_id)
    if plain is None or plain[0] not in visible_connections(seen):
        return None
    connection, job_id = plain
    if known := records_of(seen, job_id, connections=[connection]):
        return known[0].place
    origins = find_origins(connection, job_id, recorded_queue_names(seen, connection))
    queue = next((name for name in origins if seen.sees(connection, name)), None)
    return (connection, queue, job_id) if queue is not None else None


def _read(record: Record, now: datetime) -> tuple[JobDetail | None, str]:
    """The job in Redis, if its data is there, and what kept us from looking."""
    try:
        detail = read_job(record.connection, record.queue, record.job_id, now=now)
    except BrokerUnavailable as error:
        return None, str(error)
    return detail if detail and detail.job.exists else None, ""


def _job_type(operation: Operation | None, row: FailedJob | None, detail: JobDetail | None) -> str:
    in_redis = function_path(detail.job.call) if detail else None
    return in_redis or (operation.job_type if operation else "") or (row.job_type if row else "")


def _state(
    operation: Operation | None, row: FailedJob | None, judgement: Judgement | None, open_review: Review | None
) -> str:
    """The one word for it: an open question first, then what Redis shows, then what was said or seen of it last."""
    if open_review is not None:
        return "in_review"
    if judgement is not None:
        return judgement.finding
    if row is not None:
        return row.verdict or ("gone" if row.place == FailedJob.Place.FAILED else row.place)
    return operation.status if operation else "unknown"


def _named(record: Record, job_type: str) -> FailedJob:
    """For its names alone; it is never saved."""
    return FailedJob(connection=record.connection, queue=record.queue, job_id=record.job_id, job_type=job_type)


# What happened --------------------------------------------------------------------------------------------------------


def _steps(
    row: FailedJob | None,
    detail: JobDetail | None,
    kept: Sequence[ObservedAttempt],
    acts: Sequence[AuditEntry],
    reviews: Sequence[Review],
) -> Iterator[Step]:
    """Every step, those of one moment in the order in which they must have been."""
    yield from _beginnings(row, detail, reviews)
    yield from _runs_in_redis(detail)
    yield from _kept_runs(row, detail, kept)
    yield from _running(detail)
    said = [(review, one) for review in reviews for one in said_in(review)]
    told = {one.resolution.audit_entry_id for _review, one in said if not one.fate}
    for entry in acts:
        # A verdict stands below with its grounds; what it led to is an act of its own.
        if entry.pk not in told:
            yield Step(at=entry.created_at, kind="act", state=entry.status, entry=entry)
    for review in reviews:
        yield Step(at=review.opened_at, kind="review", state="in_review", review=review)
    for review, one in said:
        yield Step(at=one.resolution.created_at, kind="said", state=one.resolution.verdict, said=one, review=review)
    if row is not None and row.left_at and row.place == FailedJob.Place.GONE:
        yield Step(at=row.left_at, kind="left", state="gone")


def _beginnings(row: FailedJob | None, detail: JobDetail | None, reviews: Sequence[Review]) -> Iterator[Step]:
    source = detail.job if detail else row
    if source is not None:
        created_at, enqueued_at = source.created_at, source.enqueued_at
    else:
        noted: Mapping[str, object] = reviews[-1].evidence if reviews else {}
        created_at, enqueued_at = (time_of(noted.get(name)) for name in ("created_at", "enqueued_at"))
    if created_at:
        yield Step(at=created_at, kind="created", state="created")
    if enqueued_at:
        yield Step(at=enqueued_at, kind="queued", state="queued")


def _kept(row: FailedJob | None, detail: JobDetail | None) -> list[ObservedAttempt]:
    """The runs that Redis has forgotten, newest first: one more than are told, where there are more."""
    if row is None:
        return []
    in_redis = [result.id for result in detail.results] if detail else []
    return list(row.attempts.exclude(result_id__in=in_redis).defer("compressed_text")[: _most_kept(detail) + 1])


def _most_kept(detail: JobDetail | None) -> int:
    return max(MOST_RUNS - len(detail.results), 0) if detail else MOST_RUNS


def _runs_in_redis(detail: JobDetail | None) -> Iterator[Step]:
    if detail is None:
        return
    masks = masks_of(detail.job.call, declared_type(detail.job.call))
    for result in detail.results:
        yield _run_in_redis(result, masks)


def _kept_runs(row: FailedJob | None, detail: JobDetail | None, kept: Sequence[ObservedAttempt]) -> Iterator[Step]:
    """Those that Redis has forgotten; the newest one with its whole error, where Redis has forgotten all."""
    if row is None or not kept:
        return
    hidden = hidden_since(row, JobType.objects.filter(path=row.job_type).first())
    newest = None if detail and detail.results else kept[0]
    for attempt in kept:
        yield _kept_run(attempt, hidden, is_whole=attempt is newest)


def _running(detail: JobDetail | None) -> Iterator[Step]:
    for run in detail.executions if detail else ():
        going = Run(started_at=run.started_at, ended_at=None, worker_name=run.worker_name or "", line="")
        yield Step(at=run.started_at, kind="running", state="running", run=going)


def _run_in_redis(result: Result, masks: Masks) -> Step:
    ended_at = result.ended_at or result.created_at
    run = Run(
        started_at=result.started_at,
        ended_at=ended_at,
        worker_name=result.worker_name or "",
        line=one_line(result, masks),
    )
    return Step(at=ended_at, kind="run", state=result.kind, run=run)


def _kept_run(attempt: ObservedAttempt, hidden: Sequence[str], *, is_whole: bool) -> Step:
    ended_at = attempt.ended_at or attempt.recorded_at
    run = Run(
        started_at=attempt.started_at,
        ended_at=ended_at,
        worker_name=attempt.worker_name,
        line=stored_line(attempt.error_line, hidden),
        error=stored_error(attempt, hidden) if is_whole else None,
    )
    return Step(at=ended_at, kind="run", state=attempt.kind, run=run)
