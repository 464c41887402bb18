"""I1 to I8, I10 and I11 over a world that has come to rest: in SQL, in the oracle's book, and in what was seen."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise

from django.db.models import F
from django.test import Client
from django.urls import reverse

from jobs.models import Attempt, Effect, JobType, Operation, OperationEvent, Resolution
from tests.chaos import work
from tests.chaos.driver import AT_REST, Case, Course, effects_of, is_whole
from tests.oracle import client as oracle
from tests.support.keyspace import Stored, snapshot

MANY_MAY = ("repeatable", "local", "file")
TERMINAL = ("completed", "failed", "cancelled")


def violations(course: Course) -> list[str]:
    """What must never be, in one line each."""
    found = [line for case in course.cases for line in _of_case(case, course)]
    return [*found, *_of_ledger(), *_of_files(course)]


def changes_by_pages(course: Course) -> list[str]:
    """I11: keys of the job store that opening pages has changed. Workers and observer have ended by now."""
    from django.contrib.auth.models import User

    logging.disable(logging.ERROR)
    browser = Client(HTTP_HOST="localhost", raise_request_exception=False)
    browser.force_login(User.objects.create_superuser("chaos"), backend="django.contrib.auth.backends.ModelBackend")
    before = snapshot(course.world.redis)
    opened = {address: browser.get(address).status_code for address in _addresses()}
    after = snapshot(course.world.redis)
    changed = [
        f"I11 a page changed {key!r}" for key in {*before, *after} if not _is_same(before.get(key), after.get(key))
    ]
    return [*changed, *(f"I11 {address} answered {code}" for address, code in opened.items() if code not in (200, 404))]


# ----------------------------------------------------------------------------------------------------------------------


def _is_same(before: Stored | None, after: Stored | None) -> bool:
    """What was to expire may have done so."""
    return before == after or (after is None and before is not None and before.expires)


def _of_case(case: Case, course: Course) -> Iterator[str]:
    operation = Operation.objects.filter(entity=case.key).first()
    count = effects_of(case, course.world)
    if operation is None:
        if JobType.objects.filter(path=case.key).exists() or count:
            yield f"I5 {case.key} was accepted and is lost"
        return
    if count > 1 and case.row.kind not in MANY_MAY and not _is_known_risk(case, operation):
        yield f"I1 {case.key} happened {count} times"
    is_given_up = case.row.job == "swallow" and operation.effects.filter(status="released").exists()
    if operation.status == "completed" and not count and not is_given_up:
        yield f"I2 {case.key} is completed and never happened"
    if count and operation.status == "failed" and not _admits(operation):
        yield f"I3 {case.key} failed, as if nothing had happened"
    yield from _of_rest(case, operation)
    yield from _of_key(case, operation, course)
    yield from _of_path(case, operation, course.seen[case.key])


def _is_known_risk(case: Case, operation: Operation) -> bool:
    """A process that stood still past its lease and then acts has to be on record as an incident (protocol, 1.6)."""
    return "freeze" in case.row.events and operation.events.filter(kind="contradiction").exists()


def _admits(operation: Operation) -> bool:
    return operation.effects.filter(status__in=("completed", "unknown", "abandoned")).exists()


def _of_rest(case: Case, operation: Operation) -> Iterator[str]:
    if operation.status not in AT_REST:
        yield f"I4 {case.key} is {operation.status} and does not settle"
    if operation.status == "unknown" and operation.reviews.filter(closed_at=None).count() != 1:
        yield f"I4 {case.key} is unknown, and nobody is asked"
    if operation.current_attempt is not None or operation.lease_until is not None:
        yield f"I7 {case.key} is at rest, and somebody holds it"


def _of_key(case: Case, operation: Operation, course: Course) -> Iterator[str]:
    if case.row.kind not in ("keyed", "short_keyed"):
        return
    acts = [one for one in oracle.calls(course.world.oracle, case.key) if one["verb"] == "act"]
    sent = {one["idempotency_key"] for one in acts}
    kept = set(operation.effects.values_list("idempotency_key", flat=True))
    if len(sent) > 1 or not sent <= kept:
        yield f"I8 {case.key} was called with {len(sent)} keys"


def _of_path(case: Case, operation: Operation, seen: list[str]) -> Iterator[str]:
    """I6: what was over stays over, unless somebody said something."""
    for before, after in pairwise(one.split()[0] for one in seen):
        if before in TERMINAL and after != before:
            yield f"I6 {case.key} went from {before} to {after}"
        if before == "unknown" and not Resolution.objects.filter(review__operation=operation).exists():
            yield f"I6 {case.key} left its review unanswered"
    done = operation.attempts.filter(outcome="completed").first()
    if done and operation.attempts.filter(number__gt=0, started_at__gt=done.ended_at).exists():
        yield f"I6 {case.key} ran again after it was completed"


def _of_ledger() -> Iterator[str]:
    """I7 over all rows: one completes, those who run do not overlap, and who was taken over begins nothing."""
    for attempt in Attempt.objects.filter(outcome="", operation__status__in=AT_REST):
        yield f"I7 {attempt} has no end"
    begun_late = OperationEvent.objects.filter(
        kind="taken_over", attempt__effects__begun_at__gt=F("at"), attempt__isnull=False
    )
    yield from (f"I7 {event.attempt} began an effect after it was taken over" for event in begun_late)
    for operation in Operation.objects.prefetch_related("attempts"):
        yield from _of_attempts(operation)
    for effect in Effect.objects.filter(status="begun", operation__status__in=TERMINAL).exclude(
        idempotency="repeatable"
    ):
        yield f"I3 {effect.operation} is over, and {effect.name} is begun"


def _of_attempts(operation: Operation) -> Iterator[str]:
    runs = sorted((one for one in operation.attempts.all() if one.number), key=lambda one: one.fence)
    if [one.number for one in runs] != list(range(1, len(runs) + 1)):
        yield f"I7 {operation} has attempts {[one.number for one in runs]}"
    if sum(one.outcome == "completed" for one in runs) > 1:
        yield f"I7 {operation} was completed twice"
    for one, following in pairwise(runs):
        if one.outcome != "superseded" and one.ended_at and following.started_at < one.ended_at:
            yield f"I7 {operation} was run twice at a time"


def _of_files(course: Course) -> Iterator[str]:
    yield from (f"I10 {name} was to be seen before it was whole" for name in sorted(course.partial_files))
    for case in course.cases:
        if case.row.job == "export" and work.file_of(case.key).exists() and not is_whole(case.key):
            yield f"I10 {case.key} is not whole"


def _addresses() -> list[str]:
    """Of pages about what is there; what the job store has forgotten by now is answered with 404."""
    some = Operation.objects.order_by("-id")[:40]
    operations = [reverse("jobs:operation", args=(one.operation_id,)) for one in some]
    jobs = [reverse("jobs:job", args=("default", one.queue, one.job_id)) for one in some]
    return [reverse(f"jobs:{name}") for name in ("overview", "reviews", "failed", "workers")] + operations + jobs
