"""The index of failures: what was seen failed, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple, TypeVar

from django.db import models
from django.db.models import CharField, Exists, OuterRef, Q
from django.db.models.functions import Replace

from jobs.domain.runs import Began
from jobs.ledger.database import same_transaction
from jobs.ledger.events import operations_of_deliveries
from jobs.ledger.snapshots import ABANDONED
from jobs.models import AuditEntry, FailedJob, ObservedAttempt, Operation, Review

OPEN_PLACES = frozenset({FailedJob.Place.FAILED, FailedJob.Place.GONE})
"""Where a failure without a verdict still wants somebody to look after it."""
STUCK = frozenset({Operation.Status.FAILED, Operation.Status.UNKNOWN})
"""Where an operation of the job-safety layer wants somebody to look after it."""
_AFTER_ACT = {
    "retry_job": FailedJob.Place.MOVED,
    "enqueue_job": FailedJob.Place.MOVED,
    "delete_job": FailedJob.Place.DELETED,
    # An id without data that somebody has struck off: it is gone because of that, and the audit says who did it.
    "remove_entry": FailedJob.Place.DELETED,
}
"""Where a failed job is after an act that was carried out, by the act's verb."""
_DELETING = [verb for verb, place in _AFTER_ACT.items() if place == FailedJob.Place.DELETED]
ATTEMPTS_KEPT = 200
"""Of each job, the newest ones: one that fails every minute would have half a million in a year."""
_CLOCKS_APART = timedelta(minutes=1)
_UNSETTLED = "~"
"""Behind a score that does not yet tell whether the job failed again (Known)."""
MAY_FAIL_AGAIN = _CLOCKS_APART + timedelta(seconds=5)
"""So long after its failure a job counts as one that may fail again within the same second."""
_NEVER_CHANGED = {"id", "digest", "connection", "queue", "job_id"}
_Row = TypeVar("_Row", FailedJob, ObservedAttempt)
_TEXTS = {
    model: {field.name: field.max_length for field in model._meta.concrete_fields if isinstance(field, CharField)}
    for model in (FailedJob, ObservedAttempt)
}
_WHERE_IT_STOOD = ("digest", "connection", "queue", "job_id", "score", "noticed_at")
_CHANGED = [field.name for field in FailedJob._meta.concrete_fields if field.name not in _NEVER_CHANGED]


class Reading(NamedTuple):
    """One failure as it was read: its row and its attempts, neither of them saved."""

    row: FailedJob
    attempts: Sequence[ObservedAttempt]


class Known(NamedTuple):
    """What the index says of a job that may have failed again.

    `is_settled`: its score tells that it has not. One that was read within a minute of its failure may have failed
    once more in the same second, by the clock of a worker that is a minute off.
    """

    score: str
    is_settled: bool
    place: str
    seen: str
    noticed_at: datetime


def digest_of(connection: str, queue: str, job_id: bytes | str) -> str:
    """The key of a job in the index, by its id's own bytes as Redis holds them."""
    raw = job_id if isinstance(job_id, bytes) else job_id.encode("utf-8", "surrogateescape")
    return sha256(b"\0".join((connection.encode(), queue.encode("utf-8", "surrogateescape"), raw))).hexdigest()[:32]


def failed_job(connection: str, queue: str, job_id: str) -> FailedJob | None:
    """The index's row of a job, if it was ever seen failed."""
    return FailedJob.objects.filter(digest=digest_of(connection, queue, job_id)).first()


def known_failures(digests: Collection[str]) -> dict[str, Known]:
    """What the index has of these, by digest; one query, so ask for some hundreds at a time."""
    rows = FailedJob.objects.filter(digest__in=digests)
    return {
        digest: Known(score.removesuffix(_UNSETTLED), not score.endswith(_UNSETTLED), place, seen, noticed_at)
        for digest, score, place, seen, noticed_at in rows.values_list("digest", "score", "place", "seen", "noticed_at")
    }


def results_on_record(at_hand: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Which of these results, by the digest of their job, are stored; of a new job none are. One query."""
    found: dict[str, set[str]] = {}
    result_ids = {result_id for each in at_hand.values() for result_id in each}
    stored = ObservedAttempt.objects.filter(failed_job__digest__in=at_hand, result_id__in=result_ids)
    for digest, result_id in stored.values_list("failed_job__digest", "result_id"):
        found.setdefault(digest, set()).add(result_id)
    return found


def settle_scores(digests: Collection[str]) -> None:
    """Say of these that they did not fail a second time within the second in which they did."""
    if digests:
        rows = FailedJob.objects.filter(digest__in=digests)
        rows.update(score=Replace("score", models.Value(_UNSETTLED), models.Value("")))


def note_failures(readings: Iterable[Reading], now: datetime) -> None:
    """Write down what was read, each failure once, however often and by however many it is written.

    A job that failed again is open again: what was said of an earlier run is not said of this one.
    """
    # The later reading of one job counts; and one order for all, so that two writers never wait for each other.
    latest = {reading.row.digest: reading for reading in readings}
    ordered = [latest[digest] for digest in sorted(latest)]
    rows = [_fitted(reading.row) for reading in ordered]
    with same_transaction():
        reviewed, looked_after = _reviews_of(rows), _looked_after(rows)
        locked = FailedJob.objects.filter(digest__in=latest).order_by("digest").select_for_update()
        before = {row.digest: row for row in locked}
        for row in rows:
            _carry_over(before.get(row.digest), row, reviewed.get(row.digest, ()), now)
            row.is_open = row.is_open and row.digest not in looked_after
        FailedJob.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["digest"],
            update_fields=_CHANGED,
        )
        _add_attempts(ordered)


def _reviews_of(rows: Sequence[FailedJob]) -> Mapping[str, Sequence[Review]]:
    """The reviews of these jobs, by digest; locked, so that who closes one at this moment finds the rows, or they him.

    Locked before the rows, as every writer of both does. Those of effects are told by their operation (_looked_after).
    """
    named = Review.objects.filter(
        operation__origin=Operation.Origin.PLAIN,
        operation__connection__in={row.connection for row in rows},
        operation__queue__in={row.queue for row in rows},
        operation__job_id__in={row.job_id for row in rows},
    )
    found: dict[str, list[Review]] = {}
    for review in named.select_related("operation").order_by("pk").select_for_update(of=("self",)):
        operation = review.operation
        found.setdefault(digest_of(operation.connection, operation.queue, operation.job_id), []).append(review)
    return found


def _looked_after(rows: Sequence[FailedJob]) -> set[str]:
    """Those, by digest, that deliver an operation which went on or is over: the ledger wins (protocol, C10).

    The operations are locked, so that who moves one at this moment finds the rows, or they what it is then.
    """
    found: dict[str, Operation] = {}
    for connection in sorted({row.connection for row in rows}):
        jobs = {(row.queue, row.job_id): row for row in rows if row.connection == connection and row.can_open}
        for place, operation in operations_of_deliveries(connection, jobs).items():
            if jobs[place].job_type in ("", operation.job_type):
                found[jobs[place].digest] = operation
    pks = sorted({operation.pk for operation in found.values()})
    # Without the key: who has locked such a row and is about to note a delivery would wait for us, and we for him.
    named = Operation.objects.filter(pk__in=pks).order_by("pk").select_for_update(no_key=True)
    locked = named.in_bulk() if pks else {}
    return {digest for digest, one in found.items() if not _wants_somebody(locked[one.pk], digest)}


def _wants_somebody(operation: Operation, digest: str) -> bool:
    """Whether this failure shows that the operation needs somebody: it is of its newest job, and not given up."""
    is_stuck = operation.status in STUCK and operation.reason_code != ABANDONED
    return is_stuck and digest == digest_of(operation.connection, operation.queue, operation.job_id)


def _carry_over(before: FailedJob | None, row: FailedJob, reviewed: Iterable[Review], now: datetime) -> None:
    """What stays true of a job that was in the index before, and what was said of this run before it was filed."""
    if before and before.seen == row.seen:
        row.failed_at, row.noticed_at = before.failed_at, before.noticed_at
    if before and _is_same_run(before, row):
        row.verdict = before.verdict
    for review in reviewed:
        if review.operation.job_created_at == row.created_at and is_run_of(review, row):
            row.verdict = row.verdict or review.verdict
    row.is_open = row.place in OPEN_PLACES and not row.verdict
    if row.failed_at > now - MAY_FAIL_AGAIN:
        row.score += _UNSETTLED


def _is_same_run(before: FailedJob, row: FailedJob) -> bool:
    """By when it was queued and began; where nothing says when, by the result."""
    began, had_begun = _began(row), _began(before)
    return began.is_of(had_begun) if any(began) or any(had_begun) else row.seen == before.seen


def is_run_of(review: Review, row: FailedJob) -> bool:
    """Whether the failure is of the run that the review asks about; of a job whose data is gone, nothing denies it."""
    if any(began := _began(row)):
        return began.is_of(run_of(review))
    return row.created_at is None or row.seen == review.run


def _began(row: FailedJob) -> Began:
    return Began(row.enqueued_at, row.started_at)


def run_of(review: Review) -> Began:
    """When the run that the review asks about was queued and began, as far as it is known."""
    times = (review.evidence.get(name) for name in Began._fields)
    return Began(*(datetime.fromisoformat(text) if text else None for text in times))


def _add_attempts(readings: Sequence[Reading]) -> None:
    rows = FailedJob.objects.filter(digest__in=[reading.row.digest for reading in readings])
    ids = dict(rows.values_list("digest", "pk"))
    attempts = []
    for row, found in readings:
        for attempt in found:
            attempt.failed_job_id = ids[row.digest]
            attempts.append(_fitted(attempt))
    ObservedAttempt.objects.bulk_create(attempts, ignore_conflicts=True)
    _forget_oldest_attempts(ids.values())


def _forget_oldest_attempts(failed_jobs: Collection[int]) -> None:
    counted = ObservedAttempt.objects.filter(failed_job__in=failed_jobs).order_by().values_list("failed_job")
    for failed_job, _count in counted.annotate(count=models.Count("pk")).filter(count__gt=ATTEMPTS_KEPT):
        attempts = ObservedAttempt.objects.filter(failed_job=failed_job)
        newest_first = attempts.order_by(models.F("recorded_at").desc(nulls_last=True), "-pk")
        attempts.filter(pk__in=list(newest_first.values_list("pk", flat=True)[ATTEMPTS_KEPT:])).delete()


_BYTES = {"job_type": 512, "error_class": 200}
"""PostgreSQL takes no index row beyond 2,704 bytes, and the queue's name in it may fill 2,048 of them."""


def _fitted(row: _Row) -> _Row:
    """Texts as their columns take them: names out of Redis may be longer, or hold a NUL, which PostgreSQL refuses."""
    for name, longest in _TEXTS[type(row)].items():
        text = getattr(row, name).replace("\0", "\N{REPLACEMENT CHARACTER}")[:longest]
        setattr(row, name, text.encode("utf-8", "replace")[: _BYTES.get(name)].decode("utf-8", "ignore"))
    return row


def count_standing(connection: str) -> dict[str, int]:
    """How many jobs stood in each queue's failed registry when they were last looked at; counted in the index."""
    rows = FailedJob.objects.filter(connection=connection, place=FailedJob.Place.FAILED)
    return dict(rows.order_by().values_list("queue").annotate(models.Count("pk")))


def standing_rows(connection: str, queue: str, *, after: int, limit: int) -> list[FailedJob]:
    """The rows of one queue's, by id, from `after` on."""
    rows = FailedJob.objects.filter(connection=connection, place=FailedJob.Place.FAILED, queue=queue)
    return list(rows.filter(pk__gt=after).order_by("pk").only(*_WHERE_IT_STOOD)[:limit])


def odd_rows(connection: str, queue: str) -> list[FailedJob]:
    """Those of them, of one queue, that no address can name."""
    rows = FailedJob.objects.filter(connection=connection, place=FailedJob.Place.FAILED, queue=queue, can_open=False)
    return list(rows.order_by().only(*_WHERE_IT_STOOD))


def note_departures(rows: Sequence[FailedJob], place: str, now: datetime) -> int:
    """Say that these were seen to stand in the failed registry no more, and where they are instead.

    Only of rows that still are as they were read: one that failed again meanwhile is left. Returns how many changed.
    """
    scores = {row.pk: row.score for row in rows}
    with same_transaction():
        standing = FailedJob.objects.filter(pk__in=scores, place=FailedJob.Place.FAILED).order_by("digest")
        left = [pk for pk, score in standing.select_for_update().values_list("pk", "score") if score == scores[pk]]
        return FailedJob.objects.filter(pk__in=left).update(**_left(place, now))


def deleted_here(rows: Sequence[FailedJob]) -> frozenset[int]:
    """Which of these (by pk, all of one connection) somebody deleted, or struck off, since they were noticed."""
    acts = AuditEntry.objects.filter(
        connection__in={row.connection for row in rows},
        queue__in={row.queue for row in rows},
        subject__in={row.job_id for row in rows},
        verb__in=_DELETING,
        status=AuditEntry.Status.DONE,
    )
    last: dict[tuple[str, str], datetime] = {}
    for queue, subject, closed_at in acts.order_by("closed_at").values_list("queue", "subject", "closed_at"):
        if closed_at:
            last[queue, subject] = closed_at
    return frozenset(
        row.pk
        for row in rows
        if (closed_at := last.get((row.queue, row.job_id))) and closed_at > row.noticed_at - _CLOCKS_APART
    )


def note_act(entry: AuditEntry) -> None:
    """Take the job of an act that was carried out from among the failed ones at once, as far as it is the one acted on.

    Called in the transaction that closes the entry. What is not seen so, the observer sees when it next looks.
    """
    place = _AFTER_ACT.get(entry.verb)
    if place is None:
        return
    rows = FailedJob.objects.filter(digest=digest_of(entry.connection, entry.queue, entry.subject))
    rows.filter(noticed_at__lte=entry.deadline_at or entry.created_at, seen=entry.seen).update(
        **_left(place, entry.closed_at or entry.created_at)
    )


def note_verdict(review: Review, verdict: str, *, seen: str = "") -> None:
    """What was said of a run in its review: somebody has looked after its failure, so that is open no longer.

    `seen`: the token of the failure that an act has ended. The failure of a later run is not meant: it is read once
    more, since no review of it could be opened while this one was open. Nor is another job that has its id by now.
    """
    operation = review.operation
    rows = FailedJob.objects.filter(digest=digest_of(operation.connection, operation.queue, operation.job_id))
    is_the_job = Q(created_at=operation.job_created_at) | Q(created_at=None)
    for row in rows.filter(is_the_job).select_for_update():
        if row.seen == seen if seen else is_run_of(review, row):
            rows.update(verdict=verdict, is_open=False)
        else:
            rows.update(score="")


def follow_operation(operation: Operation) -> None:
    """An operation has got stuck, or goes on: failures of its jobs are open as long as somebody has to look after it.

    Call it in the transaction that moves the operation to, or out of, one of the states STUCK.
    """
    jobs = {*operation.deliveries.values_list("queue", "job_id"), (operation.queue, operation.job_id)}
    digests = {digest_of(operation.connection, queue, job_id) for queue, job_id in jobs}
    rows = FailedJob.objects.filter(digest__in=digests, verdict="")
    opened = {digest for digest in digests if _wants_somebody(operation, digest)}
    rows.filter(is_open=True).exclude(digest__in=opened).update(is_open=False)
    rows.filter(digest__in=opened, is_open=False, place__in=OPEN_PLACES).update(is_open=True)


def forget_departed(before: datetime, *, limit: int) -> int:
    """Delete rows, with their attempts, that left the failed registry before that, but none that was under review.

    At most `limit`; returns how many. Raises nothing when there are none.
    """
    reviewed = Review.objects.filter(
        operation__connection=OuterRef("connection"),
        operation__queue=OuterRef("queue"),
        operation__job_id=OuterRef("job_id"),
    )
    old = FailedJob.objects.filter(~Exists(reviewed), left_at__lt=before).exclude(place=FailedJob.Place.FAILED)
    with same_transaction():
        ids = list(old.order_by("left_at").values_list("pk", flat=True)[:limit])
        ObservedAttempt.objects.filter(failed_job__in=ids).delete()
        deleted, _by_model = FailedJob.objects.filter(pk__in=ids).delete()
    return deleted


def _left(place: str, now: datetime) -> Mapping[str, object]:
    # Without a verdict a job that is gone wants somebody as much as when it was there, so nothing changes then.
    return {"place": place, "left_at": now} | ({} if place in OPEN_PLACES else {"is_open": False})
