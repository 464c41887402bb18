"""Rows of the table of events: what opsboard says of a real job afterwards, beside what it ought to say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from jobs.broker.details import read_job
from jobs.broker.evidence import evidence_of
from jobs.domain.decisions import Case, decide_retry
from jobs.domain.findings import Finding, judge
from jobs.domain.idempotency import Idempotency, Promise

AFTER_ALL = timedelta(hours=1)
"""Later than any run of these tests can last."""


class Answer(NamedTuple):
    """Of a retry asked for: the answer for a type that nobody declared, and for one that is repeatable."""

    undeclared: str
    repeatable: str


NEVER_STARTED = Answer("retry·never_started", "retry·never_started")
KNOWN = Answer("review·may_have_acted", "retry·repeatable")
UNKNOWN = Answer("review·result_unknown", "retry·repeatable")
UNKNOWN_AND_ALIVE = Answer("review·result_unknown", "wait·may_still_run")
DONE = Answer("skip_duplicate·already_completed", "skip_duplicate·already_completed")
FINISHED = Answer("refuse·already_finished", "refuse·already_finished")
RUNNING = Answer("refuse·in_progress", "refuse·in_progress")
QUEUED = Answer("refuse·already_queued", "refuse·already_queued")
RETRY_PENDING = Answer("refuse·retry_pending", "refuse·retry_pending")
SCHEDULED = Answer("refuse·scheduled", "refuse·scheduled")
UNREADABLE = Answer("refuse·unreadable", "refuse·unreadable")
GONE = Answer("refuse·data_gone", "refuse·data_gone")
NOT_FAILED = Answer("refuse·not_failed", "refuse·not_failed")


class Row(NamedTuple):
    """`words` stand in the sentence; `is_dead`: the old run is proved to be over."""

    finding: Finding
    words: str
    is_dead: bool
    answer: Answer


def row_of(job_id: str, words: str = "", *, later: timedelta = timedelta(0)) -> Row:
    """What is said of the job now, or `later`; with `words` for its sentence where they stand in it."""
    now = datetime.now(UTC) + later
    detail = read_job("default", "orders", job_id, now=now)
    assert detail, f"{job_id} is not in the queue orders"
    evidence = evidence_of(detail)
    judgement = judge(evidence, now)
    decisions = [
        decide_retry(Case(evidence=evidence, judgement=judgement, promise=Promise(idempotency), now=now))
        for idempotency in (Idempotency.UNDECLARED, Idempotency.REPEATABLE)
    ]
    sentence = judgement.sentence
    return Row(
        judgement.finding,
        words if words in sentence else sentence,
        judgement.is_dead,
        Answer(*(f"{one.action}·{one.code}" for one in decisions)),
    )


def check(job_id: str, row: Row, *, later: timedelta = timedelta(0)) -> None:
    """The job has this row now, or `later`."""
    found = row_of(job_id, row.words, later=later)
    assert found == row, f"{job_id} reads {found}"
