"""Ticked rows: which rows of a list may be ticked, what would become of each, and what became of one press."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from jobs import ledger
from jobs.broker.details import read_job
from jobs.broker.records import JobDetail
from jobs.domain.decisions import Action, Decision
from jobs.domain.operations import AskedBy
from jobs.domain.ticks import ASKING, FITTING, Tick
from jobs.domain.verbs import DECIDE
from jobs.judging import case_of, declared_type, layered_of, operation_of, standing_of
from jobs.models import AuditEntry, Queue, Review
from jobs.permissions import RIGHT_FOR, Visibility, permissions_by_queue


@dataclass(frozen=True)
class Offer:
    """What a person may do with ticked rows of a list, and in which of its queues anything at all."""

    verbs: Sequence[str] = ()
    queues: frozenset[str] = frozenset()
    asking: frozenset[str] = ASKING


def offer(user: User, queues: Sequence[Queue], state: str) -> Offer:
    """What ticked rows of the list `state` of these queues may be used for; two queries, however many there are."""
    if getattr(settings, "OPSBOARD_READ_ONLY", False):
        return Offer()
    fitting = FITTING.get(state, ())
    held = permissions_by_queue(user, queues if fitting else [])
    allowed = {queue: [verb for verb in fitting if RIGHT_FOR[verb] in rights] for (_, queue), rights in held.items()}
    return Offer(
        verbs=[verb for verb in fitting if any(verb in verbs for verbs in allowed.values())],
        queues=frozenset(queue for queue, verbs in allowed.items() if verbs),
    )


# Before the act -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prospect:
    """What would become of one ticked job now.

    `waiting`: how many jobs that may be seen wait for it, and would for ever once it is gone.
    """

    tick: Tick
    state: str
    decision: Decision
    waiting: int = 0


@dataclass(frozen=True)
class Prospects:
    """What would become of a press: each job, and how many there are of a kind."""

    jobs: Sequence[Prospect]

    @property
    def ready(self) -> list[Tick]:
        """Those that would be acted on, each with the decision that the person is about to confirm."""
        return [replace(one.tick, confirmed=one.decision.code) for one in self.jobs if one.decision.allows_act]

    @property
    def objections(self) -> list[tuple[Decision, int]]:
        """Each reason to leave a job alone, with the number of jobs that it holds for; the most frequent first."""
        return Counter(one.decision for one in self.jobs if not one.decision.allows_act).most_common()


def prospects(seen: Visibility, connection: str, verb: str, ticks: Sequence[Tick], now: datetime) -> Prospects:
    """What would be answered for each ticked job now; one that changed since it was ticked is not acted on.

    Two round trips a job. Raises BrokerUnavailable.
    """
    return Prospects(
        [_prospect(seen, verb, tick, read_job(connection, tick.queue, tick.job_id, now=now), now) for tick in ticks]
    )


def _prospect(seen: Visibility, verb: str, tick: Tick, detail: JobDetail | None, now: datetime) -> Prospect:
    if detail is None:
        return Prospect(tick, "gone", Decision(Action.REFUSE, "gone", "There is no such job any more."))
    operation = operation_of(detail)
    layered = layered_of(operation, tick.job_id, asked_by=AskedBy.BULK) if operation else None
    case = case_of(detail, now, declared=declared_type(detail.job.call), standing=standing_of(detail), layered=layered)
    if detail.seen != tick.seen:
        changed = Decision(Action.REFUSE, "changed", "It changed since you ticked it.")
        return Prospect(tick, case.judgement.finding, changed)
    return Prospect(tick, case.judgement.finding, DECIDE[verb](case), _waiting(seen, detail))


def _waiting(seen: Visibility, detail: JobDetail) -> int:
    if seen.everything:
        return detail.dependents_total
    return sum(one.origin is not None and seen.sees(detail.connection, one.origin) for one in detail.dependents)


# After it -------------------------------------------------------------------------------------------------------------

OUTCOMES = {
    "done": _("done"),
    "sent_to_review": _("sent to review"),
    "refused": _("refused"),
    "changed": _("changed since you looked"),
    "gone": _("gone"),
    "not_done": _("not done"),
    "not_tried": _("not tried"),
    "intended": _("not known yet"),
    "unsettled": _("never known"),
}
"""What can become of a job of a press, in the order in which it is told."""


@dataclass(frozen=True)
class PressResult:
    """What became of one press: its entries in the order of the acts, and the number of each outcome.

    `reviews`: by (queue, job id) the newest review of those that somebody has to find out about first.
    """

    entries: Sequence[AuditEntry]
    reviews: Mapping[tuple[str, str], Review]

    @property
    def verb(self) -> str:
        return self.entries[0].verb

    @property
    def connection(self) -> str:
        return self.entries[0].connection

    @property
    def queue(self) -> str | None:
        """The queue of all its jobs, when they are of one."""
        names = {entry.queue for entry in self.entries}
        return names.pop() if len(names) == 1 else None

    @property
    def is_all_done(self) -> bool:
        return all(entry.status == AuditEntry.Status.DONE for entry in self.entries)

    @property
    def rows(self) -> list[tuple[str, AuditEntry, Review | None]]:
        """Each entry with the key of its outcome, and with its review where it was sent to one."""
        return [(_outcome(entry), entry, self.reviews.get((entry.queue, entry.subject))) for entry in self.entries]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """(what became of them, of how many); every job is in one of them."""
        counted = Counter(outcome for outcome, _entry, _review in self.rows)
        return [(str(word), counted[key]) for key, word in OUTCOMES.items() if counted[key]]


def press_result(actor: User, seen: Visibility, batch: UUID) -> PressResult | None:
    """What became of this person's own press, in queues that are still to be seen; None when there is nothing."""
    entries = [entry for entry in ledger.entries_of_batch(batch, actor) if seen.sees(entry.connection, entry.queue)]
    return PressResult(entries, _reviews(entries)) if entries else None


def _reviews(entries: Sequence[AuditEntry]) -> dict[tuple[str, str], Review]:
    """One query, if any of them was sent to a review."""
    asked = [entry for entry in entries if _outcome(entry) == "sent_to_review"]
    if not asked:
        return {}
    found = (
        Review.objects.select_related("operation")
        .order_by("pk")
        .filter(
            operation__connection=asked[0].connection,
            operation__queue__in={entry.queue for entry in asked},
            operation__job_id__in={entry.subject for entry in asked},
        )
    )
    wanted = {(entry.queue, entry.subject) for entry in asked}
    places = [((one.operation.queue, one.operation.job_id), one) for one in found]
    return {place: one for place, one in places if place in wanted}


def _outcome(entry: AuditEntry) -> str:
    """Its status; but among what was refused those that were not there, not as they were, or not come to."""
    is_undone = entry.status in (AuditEntry.Status.REFUSED, AuditEntry.Status.CHANGED)
    return _REFUSALS.get(entry.decision_code, entry.status) if is_undone else entry.status


EFFECT_REVIEWS = ("effect_unknown", "unsafe_begun", "key_request_changed", "probe_inconclusive")
"""Codes with which the table of operations wants a review."""
_REFUSALS = {
    **dict.fromkeys(("gone", "data_gone"), "gone"),
    **dict.fromkeys(("may_have_acted", "result_unknown", "key_expired"), "sent_to_review"),
    **dict.fromkeys(EFFECT_REVIEWS, "sent_to_review"),
    "changed": "changed",
    "not_tried": "not_tried",
}
