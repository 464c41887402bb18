"""An operation of the job-safety layer: what is on record of it, and what a person may have done with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone

from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from jobs.domain.arguments import Argument
from jobs.domain.decisions import Case, Decision
from jobs.domain.findings import Judgement
from jobs.domain.layered import Layered, decide_cancelling, decide_from_record, is_put_back
from jobs.domain.links import Link
from jobs.domain.operations import TERMINAL
from jobs.domain.progress import Progress
from jobs.judging import case_of_delivery, layered_of
from jobs.models import Attempt, Effect, JobType, Operation, OperationEvent, Queue, Review
from jobs.permissions import RIGHT_FOR, Permission, may, permissions_on
from jobs.selectors.effect_review import arguments_on_record, shorten_key
from jobs.selectors.layered_rows import progress_of
from jobs.selectors.layered_steps import MOST, LayeredStep, kept_of, steps_of
from jobs.selectors.review_head import links_of


@dataclass(frozen=True)
class EffectRow:
    """One effect as the page lists it."""

    effect: Effect

    @property
    def state(self) -> str:
        """A key of the words table."""
        return "effect_unknown" if self.effect.status == "unknown" else self.effect.status

    @property
    def key(self) -> str:
        return shorten_key(self.effect.idempotency_key)


@dataclass(frozen=True, kw_only=True)
class OperationOffer:
    """An act on the operation: what would be decided, whether this person may ask for it, and by which right."""

    verb: str
    decision: Decision
    is_allowed: bool
    right: Permission
    note: str = ""
    """How it would run; '' for an act that runs nothing."""


@dataclass(frozen=True, kw_only=True)
class LayeredPage:
    """The whole page. `silence`: why the job store can't be asked; '' when it answered.

    `judgement`: how its newest job stands in Redis; None where it is not there. `running`: the attempt that holds it.
    """

    operation: Operation
    sentence: str
    running: Attempt | None
    judgement: Judgement | None
    silence: str
    effects: tuple[EffectRow, ...]
    steps: tuple[LayeredStep, ...]
    is_shortened: bool
    """Of something there is more than is told."""
    most: int
    attempts: int
    repeats: int
    """Deliveries that were skipped, as far as they are told."""
    reviews: tuple[Review, ...]
    is_contradicted: bool
    arguments: tuple[Argument, ...]
    job_type: JobType | None
    links: tuple[Link, ...]
    offers: tuple[OperationOffer, ...]
    may_read_audit: bool

    @property
    def operation_id(self) -> str:
        return self.operation.operation_id

    @property
    def seen(self) -> int:
        """The token that an act must bring back."""
        return self.operation.version

    @property
    def open_review(self) -> Review | None:
        return next((one for one in self.reviews if one.closed_at is None), None)

    @property
    def state(self) -> str:
        """A key of the words table: an open question first."""
        return "in_review" if self.open_review else self.operation.status

    @property
    def progress(self) -> Progress | None:
        """How far its newest attempt said it was: while that runs, or how far it came."""
        return progress_of(self.operation)

    @property
    def is_moving(self) -> bool:
        """Whether it may change without anybody's act, so that its page refreshes."""
        return self.operation.status not in (*TERMINAL, Operation.Status.UNKNOWN)

    @property
    def offered(self) -> tuple[OperationOffer, ...]:
        """The acts worth speaking of: what is over is not cancelled."""
        is_over = self.operation.status in TERMINAL
        return tuple(one for one in self.offers if not (is_over and one.verb == "cancel_job"))

    def offer(self, verb: str) -> OperationOffer:
        """The act of this verb."""
        return next(one for one in self.offers if one.verb == verb)


def layered_page(user: User, operation: Operation, queue: Queue, *, now: datetime) -> LayeredPage:
    """The page of an operation that this person may see. Two round trips; as many queries for any number of rows."""
    kept = kept_of(operation)
    layered = layered_of(operation, operation.job_id)
    case, silence = _newest_job(operation, layered, now)
    declared = JobType.objects.filter(path=operation.job_type).first()
    running = next((one for one in kept.attempts if one.pk == operation.current_attempt), None)
    return LayeredPage(
        operation=operation,
        sentence=_sentence(operation, case),
        running=running,
        judgement=case.judgement if case else None,
        silence=silence,
        effects=tuple(EffectRow(one) for one in kept.effects),
        steps=steps_of(operation, kept),
        is_shortened=kept.is_shortened,
        most=MOST,
        attempts=operation.attempts_used,
        repeats=sum(one.kind == OperationEvent.Kind.DEDUP for one in kept.events),
        reviews=tuple(kept.reviews),
        is_contradicted=operation.events.filter(kind=OperationEvent.Kind.CONTRADICTION).exists(),
        arguments=arguments_on_record(operation, declared),
        job_type=declared,
        links=links_of(operation.operation_id, operation),
        offers=_offers(case, layered, permissions_on(user, queue)),
        may_read_audit=may(user, Permission.VIEW_AUDIT),
    )


# ----------------------------------------------------------------------------------------------------------------------


def _newest_job(operation: Operation, layered: Layered, now: datetime) -> tuple[Case | None, str]:
    """The case of its newest job, if Redis has it, and what kept us from looking."""
    try:
        detail = read_job(operation.connection, operation.queue, operation.job_id, now=now)
    except BrokerUnavailable as error:
        return None, str(error)
    except UnknownConnection:
        return None, f"No job store of the name “{operation.connection}” is configured here."
    return case_of_delivery(detail, now, layered), ""


def _sentence(operation: Operation, case: Case | None) -> str:
    """Why it stands where it does; where no reason is on record, what the state means."""
    if operation.status in _WAITING and case is not None and case.evidence.status in _ENDED:
        return _ENDED_UNSEEN
    return operation.reason_text or _MEANINGS[Operation.Status(operation.status)]


def _offers(case: Case | None, layered: Layered, rights: Collection[Permission]) -> tuple[OperationOffer, ...]:
    zone = timezone.get_current_timezone()
    retry = decide_from_record(case, layered, zone)
    how = "Its failed job is put back on its queue." if is_put_back(case, layered) else "It is queued as a new job."
    decided = {
        "retry_job": (retry, how if retry.allows_act else ""),
        "cancel_job": (decide_cancelling(layered), ""),
    }
    return tuple(
        OperationOffer(
            verb=verb, decision=decision, is_allowed=RIGHT_FOR[verb] in rights, right=RIGHT_FOR[verb], note=note
        )
        for verb, (decision, note) in decided.items()
    )


_WAITING = (Operation.Status.ACCEPTED, Operation.Status.QUEUED)
_ENDED = ("failed", "stopped", "canceled", "finished")
_ENDED_UNSEEN = (
    "Its job has ended in RQ, and nothing of that is on record here: the observer finds out why, and what is next."
)
_MEANINGS = {
    Operation.Status.ACCEPTED: "It was accepted together with its business data, and is not on its queue yet.",
    Operation.Status.QUEUED: "It waits in its queue for a worker.",
    Operation.Status.RUNNING: "A worker runs it.",
    Operation.Status.RETRY_WAIT: "It waits for its next attempt.",
    Operation.Status.UNKNOWN: "Nobody knows whether it took effect.",
    Operation.Status.COMPLETED: "All that it was to do is done.",
    Operation.Status.FAILED: "It failed, and does not run again by itself.",
    Operation.Status.CANCELLED: "It was cancelled, and does not run.",
}
