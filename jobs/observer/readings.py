"""What the index keeps of a failed job: read whole, judged as its page judges it, and masked before it is kept."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jobs.broker.details import read_jobs
from jobs.broker.evidence import evidence_of
from jobs.broker.records import JobDetail, JobHash, ListedJob, Result
from jobs.broker.watching import Listed, scores_of
from jobs.domain.calls import Unreadable
from jobs.domain.findings import Finding, judge
from jobs.judging import declared_types, function_path
from jobs.ledger.failures import Reading, digest_of, results_on_record
from jobs.models import NAME_LENGTH, FailedJob, JobType, ObservedAttempt
from jobs.observer.trouble import apart, told
from jobs.selectors.rows import JobRow, job_rows
from jobs.selectors.texts import Masks, error_text, masks_of, one_line, recorded_ids_of

LATEST_CHARACTERS = 20_000
OLDER_CHARACTERS = 8_000
"""Of each attempt's error that are kept."""
log = logging.getLogger("opsboard.observer")
NO_TEXT = "Its id is not plain text, so it can’t be opened."


class Read(NamedTuple):
    """One entry that was read: what the index shall say of it, and the job (None where it is no job of that queue)."""

    listed: Listed
    reading: Reading
    detail: JobDetail | None


class _Entry(NamedTuple):
    """One entry while it is read; without a detail where its id is no text, or its job is another queue's."""

    listed: Listed
    detail: JobDetail | None

    def digest(self, connection: str) -> str:
        return digest_of(connection, self.listed.queue, self.listed.member)

    def result_ids(self) -> list[str]:
        return [result.id for result in self.detail.results] if self.detail else []

    def as_row(self) -> ListedJob:
        newest = self.detail.newest_result if self.detail else None
        return ListedJob(job=self._job(), queue=self.listed.queue, score=0.0, rank=0, newest_result=newest)

    def _job(self) -> JobHash:
        if self.detail is not None:
            return self.detail.job
        if self.listed.job_id is None:
            shown = self.listed.member.decode("utf-8", "backslashreplace")
            return JobHash(job_id=shown, exists=True, call=Unreadable("its id is not text"))
        # Of a job that is listed under the wrong queue nothing is shown, so whose it is need not be known either.
        call = Unreadable("it belongs to another queue")
        return JobHash(job_id=self.listed.job_id, exists=True, origin="", call=call)


def read_failures(connection: str, listed: Sequence[Listed], now: datetime) -> list[Read]:
    """What these entries are; one that is listed no more and whose job has left nothing is left out.

    A job that nobody foresaw, so that reading it fails, has a row that says so, and holds up no other. Raises
    BrokerUnavailable.
    """
    return apart(
        lambda some: _read_failures(connection, some, now),
        listed,
        lambda entry, error: unread(connection, entry, error, now),
    )


def unread(connection: str, listed: Listed, error: Exception, now: datetime) -> Read:
    """What is said instead of an entry that nobody foresaw."""
    why = told(error)
    log.error("an unexpected error keeps a failed job of %s from being read: %s", connection, why)
    job_id = listed.member.decode("utf-8", "backslashreplace")
    row = FailedJob(
        digest=digest_of(connection, listed.queue, listed.member),
        connection=connection,
        queue=listed.queue,
        job_id=job_id,
        can_open=listed.job_id is not None and "\0" not in job_id and len(job_id) <= NAME_LENGTH,
        finding=Finding.UNRECOGNISED,
        note=f"It can’t be read: an unexpected error ({why}).",
        score=repr(listed.score),
        failed_at=now,
        noticed_at=now,
    )
    return Read(listed, Reading(row, ()), None)


def _read_failures(connection: str, listed: Sequence[Listed], now: datetime) -> list[Read]:
    entries = _read(connection, listed, now)
    on_record = results_on_record({entry.digest(connection): entry.result_ids() for entry in entries})
    types = declared_types(entry.detail.job.call for entry in entries if entry.detail)
    shown = job_rows(connection, "failed", [entry.as_row() for entry in entries], now)
    return [
        Read(
            entry.listed,
            _reading(connection, entry, row, types, on_record, now),
            entry.detail,
        )
        for entry, row in zip(entries, shown, strict=True)
    ]


def _read(connection: str, listed: Sequence[Listed], now: datetime) -> list[_Entry]:
    named = [(entry, job_id) for entry in listed if (job_id := entry.job_id) is not None]
    details = read_jobs(connection, [(entry.queue, job_id) for entry, job_id in named], now=now)
    found = {entry: detail for (entry, _id), detail in zip(named, details, strict=True)}
    absent = [entry for entry, detail in found.items() if detail is None]
    scores = scores_of(connection, [(entry.queue, entry.member) for entry in absent])
    gone = {entry for entry, score in zip(absent, scores, strict=True) if score is None}
    return [_Entry(entry, found.get(entry)) for entry in listed if entry not in gone]


def _reading(
    connection: str,
    entry: _Entry,
    row: JobRow,
    types: Mapping[str, JobType],
    on_record: Mapping[str, Collection[str]],
    now: datetime,
) -> Reading:
    digest, detail = entry.digest(connection), entry.detail
    declared = types.get(function_path(detail.job.call) or "") if detail else None
    masks = masks_of(detail.job.call, declared) if detail else None
    attempts = list(_attempts(detail, row, masks, on_record.get(digest, ()))) if detail and masks else []
    job_id = entry.listed.job_id
    is_plain = job_id is not None and "\0" not in job_id
    failed = FailedJob(
        digest=digest,
        connection=connection,
        queue=entry.listed.queue,
        job_id=row.job_id,
        can_open=row.can_open and is_plain,
        job_type=row.function or "",
        finding=judge(evidence_of(detail), now).finding if detail else Finding.UNRECOGNISED,
        error_class=attempts[0].error_class if attempts else "",
        error_line=row.error,
        note=row.note if is_plain else NO_TEXT,
        ids=recorded_ids_of(detail.job.call, declared) if detail else [],
        hidden_arguments=row.hidden_arguments,
        seen=detail.seen if detail else "",
        score=repr(entry.listed.score),
        noticed_at=now,
        worker_name=row.worker_name or "",
        **_times(detail, now),
        **_place(detail, now),
    )
    return Reading(failed, attempts)


def _place(detail: JobDetail | None, now: datetime) -> dict[str, Any]:
    """Where it stands by now: it may have been retried since its entry was read."""
    if detail is None or "failed" in detail.scores:
        return {"place": FailedJob.Place.FAILED}
    return {"place": FailedJob.Place.MOVED, "left_at": now}


def _times(detail: JobDetail | None, now: datetime) -> dict[str, datetime | None]:
    if detail is None:
        return {"failed_at": now}
    copied = "created_at enqueued_at started_at ended_at"
    return {**{name: getattr(detail.job, name) for name in copied.split()}, "failed_at": _failed_at(detail, now)}


def _failed_at(detail: JobDetail, now: datetime) -> datetime:
    """When the run ended: by the job, unless that speaks of an earlier run; else by its result. Never in the future."""
    job, newest = detail.job, detail.newest_result
    is_of_this_run = job.ended_at and not (job.started_at and job.started_at > job.ended_at)
    ended = job.ended_at if is_of_this_run else newest and (newest.ended_at or newest.created_at)
    return min(ended or now, now)


def _attempts(detail: JobDetail, row: JobRow, masks: Masks, known: Collection[str]) -> Iterator[ObservedAttempt]:
    """The newest one, and before it those that are not known yet."""
    for at, result in enumerate(detail.results):
        if at == 0:
            yield _attempt(result, masks, row.error, keep=LATEST_CHARACTERS)
        elif result.id not in known:
            yield _attempt(result, masks, one_line(result, masks), keep=OLDER_CHARACTERS)


def _attempt(result: Result, masks: Masks, line: str, *, keep: int) -> ObservedAttempt:
    error = error_text(result, masks, keep=keep)
    return ObservedAttempt(
        result_id=result.id,
        kind=result.kind,
        worker_name=result.worker_name or "",
        started_at=result.started_at,
        ended_at=result.ended_at,
        recorded_at=result.created_at,
        error_class=error.traceback.exceptions[-1].kind if error else "",
        error_line=line,
        compressed_text=zlib.compress(error.text.encode()) if error else b"",
        is_shortened=error.shortened if error else False,
    )
