"""Notices runs whose result nobody knows, long before RQ does, and has a person asked what became of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from jobs.broker import connections
from jobs.broker.connections import Connection
from jobs.broker.details import read_jobs
from jobs.broker.records import JobDetail
from jobs.broker.running import (
    StartedRun,
    Trace,
    count_runs,
    missing_from_queue,
    scan_jobs,
    started_runs,
    wait_token,
)
from jobs.domain.decisions import Action, Case
from jobs.domain.findings import Finding
from jobs.domain.housekeeping import ORPHAN_GRACE
from jobs.domain.noticing import decide_notice
from jobs.judging import case_of, declared_types, function_path, kept_text, question_of, standing_of
from jobs.ledger import reviews
from jobs.ledger.database import same_transaction
from jobs.ledger.events import operations_of_deliveries
from jobs.models import NAME_LENGTH
from jobs.observer.queues import watched_queues
from jobs.observer.trouble import apart, told

BATCH = 50
"""Jobs that are read whole at once."""
SUSPECTS = 200
"""Of each kind that one look takes up; the others wait for the next one."""
SLICES = 50
"""Of the search through all jobs that one look goes on by: some 25,000 keys, 300,000 in a minute."""
ROUND = timedelta(seconds=30)
"""A search through all jobs begins at the earliest so long after the last one began."""
REMEMBERED = 100_000
"""Decisions that are remembered, so that the same suspicion is not looked into for ever."""

log = logging.getLogger("opsboard.observer")


class Suspect(NamedTuple):
    """A job to be looked into. `token` tells its present run, or its present wait, from every other one."""

    queue: str
    job_id: str
    token: str | bytes


class Seen(NamedTuple):
    """A job that was read whole, and how it is judged."""

    detail: JobDetail
    case: Case

    @property
    def token(self) -> str:
        job = self.detail.job
        return wait_token(job.status or "", job.enqueued_at_text, job.started_at_text)

    @property
    def finding(self) -> Finding:
        return self.case.judgement.finding


@dataclass
class Memory:
    """What is remembered of a connection between two looks. A new one only costs time."""

    place: Connection
    cursor: int = 0
    began_at: datetime | None = None
    """When the search through all jobs began last."""
    once_seen: list[Suspect] = field(default_factory=list)
    """What no list held at the last look: a job on its way to a worker is so for a moment."""
    decided: set[Suspect] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    def decide(self, suspects: Iterable[Suspect]) -> None:
        """Of these nothing is to be found out any more."""
        if len(self.decided) >= REMEMBERED:
            self.decided.clear()
        self.decided.update(suspects)

    def say(self, sentence: str) -> None:
        """Log it, if that was not done before."""
        if sentence not in self.said:
            self.said.add(sentence)
            log.warning("%s: %s", self.place.name, sentence)


_memories: dict[str, Memory] = {}


def look(connection: str, now: datetime, memory: Memory | None = None) -> int:
    """Open the reviews that this connection's jobs want by now; returns how many. To be called every few seconds.

    Runs are looked at each time, their leases by the store's own clock. What no list holds is searched for bit by bit,
    and has to be found so on two looks in a row. `memory`: this process's own, unless the caller keeps one. Raises
    BrokerUnavailable, ScanNotAllowed.
    """
    memory, queues = memory or _memory_of(connection), watched_queues(connection)
    at, runs, left_out = started_runs(connection, queues)
    if left_out:
        memory.say("there are too many runs at once to look at every one")
    opened = _look_at_runs(connection, runs, at, now, memory)
    opened += _look_again(connection, at, now, memory)
    _search(connection, frozenset(queues), at, memory)
    return opened


def open_for_failed(details: Iterable[JobDetail], now: datetime) -> int:
    """The same for jobs just read from a failed registry, before they count as indexed; returns how many were opened.

    A job that is only listed there, and under way again, is looked into by its run or its place like any other.
    """
    filed = [one for one in details if one.job.status in ("failed", "stopped") and _can_be_kept(one.job.job_id)]
    return _open_all(list(_judged(filed, now)), now)


def open_for(detail: JobDetail, case: Case, now: datetime) -> bool:
    """Open a review of the job's last run, if the table for plain jobs wants one unasked; returns whether it is new.

    A run has one review, whoever opens it and however often.
    """
    decision = decide_notice(case)
    if decision is None or not decision.wants_review:
        return False
    _review, is_new = reviews.open_review(question_of(detail, case, decision.code), now=now)
    if is_new:
        log.info("a review was opened: %s of job %r", case.judgement.finding, detail.job.job_id)
    return is_new


def _memory_of(connection: str) -> Memory:
    """A connection that was configured anew is another one: nothing is remembered of it."""
    place = connections.get(connection)
    if connection not in _memories or _memories[connection].place is not place:
        _memories[connection] = Memory(place)
    return _memories[connection]


def _can_be_kept(job_id: str) -> bool:
    return len(job_id) <= NAME_LENGTH and "\0" not in job_id


# Runs -----------------------------------------------------------------------------------------------------------------


def _look_at_runs(connection: str, runs: Iterable[StartedRun], at: datetime, now: datetime, memory: Memory) -> int:
    given_up = [run for run in runs if run.lease_until < at.timestamp() or not run.has_worker]
    suspects = [Suspect(run.queue, run.job_id, run.entry) for run in given_up if _can_be_kept(run.job_id)]
    opened = 0
    for batch in _read(connection, _undecided(suspects, memory), at):
        opened += _open_apart([(suspect, seen) for suspect, seen in batch if seen], now, memory)
        memory.decide(suspect for suspect, seen in batch if seen is None)
    return opened


def _is_over(seen: Seen) -> bool:
    """Whether another look would find the same: neither is the job being run, nor may a worker be just taking it."""
    decision = decide_notice(seen.case)
    if seen.finding is Finding.RUNNING or _has_to_wait_its_turn(seen):
        return False
    return decision is None or decision.action is not Action.WAIT


def _has_to_wait_its_turn(seen: Seen) -> bool:
    """Whether the review of an earlier run is open: one is at a time, and this run is asked about after it."""
    standing = seen.case.standing
    return standing.has_open_review and standing.run_in_review != kept_text(seen.detail.run)


# What no list holds ---------------------------------------------------------------------------------------------------


def _look_again(connection: str, at: datetime, now: datetime, memory: Memory) -> int:
    """The second look at what no list held at the first one."""
    suspects, memory.once_seen = memory.once_seen, []
    opened = 0
    for batch in _read(connection, suspects, at):
        same = [(suspect, seen) for suspect, seen in batch if seen and seen.token == suspect.token]
        memory.once_seen += [suspect for suspect, seen in same if _is_cancelled_run(seen)]
        lost = [(suspect, seen) for suspect, seen in same if not (_is_cancelled_run(seen) or _is_due_later(seen))]
        opened += _open_apart(lost, now, memory)
    return opened


def _is_cancelled_run(seen: Seen) -> bool:
    """Its own list is the last to know of such a run, and forgets it soon after it was lost: it is kept in sight."""
    return seen.finding is Finding.CANCELED and seen.case.evidence.has_open_run and not seen.case.judgement.is_dead


def _is_due_later(seen: Seen) -> bool:
    """RQ queues it from its schedule, whatever its hash says."""
    return "scheduled" in seen.case.evidence.listed_in


def _search(connection: str, queues: Collection[str], at: datetime, memory: Memory) -> None:
    """Go on with the search through all jobs for those that are perhaps in no list, for the next look."""
    if not memory.cursor and memory.began_at and at - memory.began_at < ROUND:
        return
    traces: list[Trace] = []
    for _slice in range(SLICES):
        if not memory.cursor:
            memory.began_at = at
        memory.cursor, found = scan_jobs(connection, memory.cursor)
        traces += [one for one in found if one.queue in queues and _may_be_mislaid(one, at)]
        if not memory.cursor:
            break
    suspects = [Suspect(one.queue, one.job_id, one.token) for one in _mislaid(connection, traces, memory)]
    memory.once_seen += _undecided(suspects, memory)


def _may_be_mislaid(trace: Trace, at: datetime) -> bool:
    """It counts as waiting or running for a while already, or was cancelled after it had begun."""
    if not _can_be_kept(trace.job_id):
        return False
    if trace.status == "queued":
        return trace.enqueued_at is not None and trace.enqueued_at + ORPHAN_GRACE < at
    if trace.status == "started":
        return trace.started_at is None or trace.started_at + ORPHAN_GRACE < at
    return trace.status == "canceled" and trace.started_at is not None


def _mislaid(connection: str, traces: Sequence[Trace], memory: Memory) -> Iterator[Trace]:
    """Those whose queue does not hold them, that run without a run on record, or whose cancelled run goes on."""
    waiting = [one for one in traces if one.status == "queued"]
    for queue in dict.fromkeys(one.queue for one in waiting):
        asked = {one.job_id: one for one in waiting if one.queue == queue}
        missing = missing_from_queue(connection, queue, asked)
        if missing is None:
            memory.say("a queue is too long to look whether each of its jobs is in it")
        yield from (asked[job_id] for job_id in missing or ())
    begun = [one for one in traces if one.status != "queued"]
    for trace, count in zip(begun, count_runs(connection, [one.job_id for one in begun]), strict=True):
        if bool(count) is (trace.status == "canceled"):
            yield trace


# ----------------------------------------------------------------------------------------------------------------------


def _undecided(suspects: Iterable[Suspect], memory: Memory) -> list[Suspect]:
    """As many as one look takes up."""
    return list(dict.fromkeys(one for one in suspects if one not in memory.decided))[:SUSPECTS]


def _open_apart(found: Sequence[tuple[Suspect, Seen]], now: datetime, memory: Memory) -> int:
    """Open what they want; one with which that fails holds up no other, and is looked into again."""

    def open_some(some: Sequence[tuple[Suspect, Seen]]) -> list[int]:
        opened = _open_all([seen for _suspect, seen in some], now)
        memory.decide(suspect for suspect, seen in some if _is_over(seen))
        return [opened]

    def failed(_one: tuple[Suspect, Seen], error: Exception) -> int:
        log.error("an unexpected error keeps a run from being asked about: %s", told(error))
        return 0

    return sum(apart(open_some, found, failed))


def _open_all(found: Sequence[Seen], now: datetime) -> int:
    """Open what they want, all or nothing; in one order for all, so that two observers never wait for each other."""
    ordered = sorted(_plain(found), key=lambda one: (one.detail.queue, one.detail.job.job_id))
    with same_transaction():
        return sum(open_for(one.detail, one.case, now) for one in ordered)


def _plain(found: Sequence[Seen]) -> list[Seen]:
    """Without those that deliver an operation: of these the ledger knows what became of them, and asks by itself."""
    doubtful = [one for one in found if (decision := decide_notice(one.case)) and decision.wants_review]
    places = {(one.detail.connection, one.detail.queue, one.detail.job.job_id): one for one in doubtful}
    layered = set()
    for connection in {one.detail.connection for one in doubtful}:
        jobs = [(queue, job_id) for name, queue, job_id in places if name == connection]
        for (queue, job_id), operation in operations_of_deliveries(connection, jobs).items():
            if function_path(places[connection, queue, job_id].detail.job.call) in (None, operation.job_type):
                layered.add((connection, queue, job_id))
    return [one for place, one in places.items() if place not in layered]


def _read(connection: str, suspects: Sequence[Suspect], at: datetime) -> Iterator[list[tuple[Suspect, Seen | None]]]:
    """The suspects in batches, each read whole and judged as its page judges it, at the store's time.

    None for one that its queue does not have, or with which that fails.
    """
    for start in range(0, len(suspects), BATCH):
        batch = suspects[start : start + BATCH]
        yield apart(lambda some: _read_together(connection, some, at), batch, _unread)


def _read_together(connection: str, batch: Sequence[Suspect], at: datetime) -> list[tuple[Suspect, Seen | None]]:
    details = read_jobs(connection, [(one.queue, one.job_id) for one in batch], now=at)
    judged = _judged([_with_place(connection, one) for one in details if one is not None], at)
    return [(suspect, None if detail is None else next(judged)) for suspect, detail in zip(batch, details, strict=True)]


def _unread(suspect: Suspect, error: Exception) -> tuple[Suspect, None]:
    log.error("an unexpected error keeps a run from being looked into: %s", told(error))
    return suspect, None


def _with_place(connection: str, detail: JobDetail) -> JobDetail:
    """A queue that is too long to look through at one go is looked through bit by bit."""
    if detail.queued_times is not None or detail.job.status != "queued":
        return detail
    missing = missing_from_queue(connection, detail.queue, [detail.job.job_id])
    return replace(detail, queued_times=0) if missing else detail


def _judged(details: Sequence[JobDetail], at: datetime) -> Iterator[Seen]:
    types = declared_types(detail.job.call for detail in details)
    for detail in details:
        declared = types.get(function_path(detail.job.call) or "")
        yield Seen(detail, case_of(detail, at, declared=declared, standing=standing_of(detail)))
