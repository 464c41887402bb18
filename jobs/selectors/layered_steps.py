"""The timeline of an operation of the job-safety layer: every row that is on record of it, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from django.db.models import Model, QuerySet

from jobs.models import Attempt, AuditEntry, Delivery, Effect, Operation, OperationEvent, Review
from jobs.selectors.review_head import Said, said_of

MOST = 100
"""Of each kind the newest are told; more make no story that anybody reads."""

_LAST = datetime.max.replace(tzinfo=UTC)
_Row = TypeVar("_Row", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The rows of one operation, newest first, at most MOST of a kind; `effects` and `reviews` all, oldest first."""

    attempts: Sequence[Attempt]
    effects: Sequence[Effect]
    deliveries: Sequence[Delivery]
    events: Sequence[OperationEvent]
    reviews: Sequence[Review]
    said: Sequence[Said]
    acts: Sequence[AuditEntry]
    is_shortened: bool


@dataclass(frozen=True, kw_only=True)
class LayeredStep:
    """One thing that happened. `state`: a key of the words table; `kind` names the field that tells the rest."""

    at: datetime | None
    kind: str
    """created, delivery, attempt, effect, event, review, said or act."""
    state: str
    attempt: Attempt | None = None
    effect: Effect | None = None
    delivery: Delivery | None = None
    event: OperationEvent | None = None
    review: Review | None = None
    said: Said | None = None
    entry: AuditEntry | None = None

    @property
    def took(self) -> timedelta | None:
        """How long an attempt lasted; None while it lasts."""
        ended = self.attempt.ended_at if self.attempt else None
        return ended - self.attempt.started_at if self.attempt and ended else None


def kept_of(operation: Operation) -> Kept:
    """What is on record of it: seven queries, however many rows there are."""
    attempts, more_attempts = _newest(operation.attempts.order_by("-started_at", "-id"))
    deliveries, more_deliveries = _newest(operation.deliveries.order_by("-at", "-id"))
    events, more_events = _newest(operation.events.select_related("effect", "attempt").order_by("-at", "-id"))
    acts, more_acts = _newest(_acts(operation, deliveries))
    return Kept(
        attempts=attempts,
        effects=list(operation.effects.select_related("begun_by").order_by("begun_at", "id")),
        deliveries=deliveries,
        events=events,
        reviews=list(operation.reviews.select_related("effect").order_by("opened_at", "pk")),
        said=said_of(operation),
        acts=acts,
        is_shortened=more_attempts or more_deliveries or more_events or more_acts,
    )


def steps_of(operation: Operation, kept: Kept) -> tuple[LayeredStep, ...]:
    """Every step from the first; those of one moment in the order in which they must have been."""
    found = [
        LayeredStep(at=operation.created_at, kind="created", state="accepted"),
        *(LayeredStep(at=one.at, kind="delivery", state="delivered", delivery=one) for one in kept.deliveries),
        *_attempts(kept.attempts),
        *_effects(kept.effects),
        *(
            LayeredStep(at=one.at, kind="event", state=_EVENTS.get(one.kind, one.kind), event=one)
            for one in kept.events
        ),
        *(LayeredStep(at=one.opened_at, kind="review", state="in_review", review=one) for one in kept.reviews),
        *_sayings(kept.said),
        *_acts_told(kept),
    ]
    return tuple(sorted(found, key=lambda step: step.at or _LAST))


# ----------------------------------------------------------------------------------------------------------------------


def _newest(rows: QuerySet[_Row]) -> tuple[list[_Row], bool]:
    """The first of them, and whether there are more."""
    found = list(rows[: MOST + 1])
    return found[:MOST], len(found) > MOST


def _acts(operation: Operation, deliveries: Sequence[Delivery]) -> QuerySet[AuditEntry]:
    """What people did with any job that delivered it."""
    jobs = {operation.job_id, *(one.job_id for one in deliveries)}
    entries = AuditEntry.objects.filter(connection=operation.connection, queue=operation.queue)
    return entries.filter(subject__in=sorted(jobs), created_at__gte=operation.created_at)


def _attempts(attempts: Sequence[Attempt]) -> Iterator[LayeredStep]:
    """Those that ran; of a delivery that was turned away the event tells."""
    for one in attempts:
        if one.number:
            yield LayeredStep(at=one.started_at, kind="attempt", state=one.outcome or "running", attempt=one)


def _effects(effects: Sequence[Effect]) -> Iterator[LayeredStep]:
    for one in effects:
        # Work in our own database begins and is completed in one commit.
        if one.begun_at and one.begun_at != one.completed_at:
            yield LayeredStep(at=one.begun_at, kind="effect", state="begun", effect=one)
        if one.completed_at:
            yield LayeredStep(at=one.completed_at, kind="effect", state="completed", effect=one)


def _sayings(said: Sequence[Said]) -> Iterator[LayeredStep]:
    for one in said:
        yield LayeredStep(
            at=one.resolution.created_at,
            kind="said",
            state=one.resolution.verdict,
            said=one,
            review=one.resolution.review,
        )


def _acts_told(kept: Kept) -> Iterator[LayeredStep]:
    """A verdict is told with its grounds, so its entry is not told again."""
    told = {one.resolution.audit_entry_id for one in kept.said}
    for entry in kept.acts:
        if entry.pk not in told:
            yield LayeredStep(at=entry.created_at, kind="act", state=entry.status, entry=entry)


_EVENTS: Mapping[str, str] = {OperationEvent.Kind.REFUSED: "turned_away"}
"""Where the word of an event is not found under its kind."""
