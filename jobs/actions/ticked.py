"""One press on many ticked jobs: the same act for each, one after the other, each with its own decision and record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from jobs import ledger
from jobs.actions.guarded import JobNotFound, Wish, carry_out
from jobs.actions.jobs import ACTS
from jobs.broker.errors import BrokerUnavailable
from jobs.domain.ticks import ASKING, Tick
from jobs.models import AuditEntry, Queue
from jobs.permissions import RIGHT_FOR, QueueNotVisible, permissions_by_queue, require

AT_MOST = 100
"""Jobs of one press; more take a bulk run."""
PATIENCE_SECONDS = 10.0
"""A store that answers, but slowly, must not keep the request for minutes: what is left by then is not tried."""
NOT_TRIED = "not_tried"
LEFT = "Not tried: the job store did not answer, or took too long, for a job before this one."


@dataclass(frozen=True, kw_only=True)
class Press:
    """What one person wants done with these jobs of one connection; a job that was ticked twice counts once."""

    actor: User
    connection: str
    verb: str
    ticks: Sequence[Tick]
    reason: str = ""
    batch: UUID = field(default_factory=uuid4)

    def __post_init__(self) -> None:
        once: dict[tuple[str, str], Tick] = {}
        for tick in self.ticks:
            once.setdefault((tick.queue, tick.job_id), tick)
        object.__setattr__(self, "ticks", tuple(once.values()))

    @property
    def queues(self) -> dict[str, Queue]:
        """The queues by name; an unsaved one where there is no record, which only superusers may see."""
        names = {tick.queue for tick in self.ticks}
        recorded = {queue.name: queue for queue in Queue.objects.filter(connection=self.connection, name__in=names)}
        return {name: recorded.get(name) or Queue(connection=self.connection, name=name) for name in names}


def carry_out_each(press: Press) -> None:
    """Carry out the act on each job in turn; what becomes of each is on record under the press's batch.

    The first that the store does not answer for ends it, and the rest is recorded as not tried. Raises PermissionDenied
    or QueueNotVisible when that kept every job from being acted on.
    """
    queues, refusals, until = press.queues, [], monotonic() + PATIENCE_SECONDS
    for number, tick in enumerate(press.ticks, start=1):
        try:
            is_answered = _carry_out(press, queues[tick.queue], tick)
        except (PermissionDenied, QueueNotVisible) as refusal:
            refusals.append(refusal)
            continue
        if not is_answered or monotonic() > until:
            _leave(press, press.ticks[number:])
            break
    _raise_when_nothing_is_left(press, refusals)


def turn_away(press: Press) -> tuple[list[Tick], list[AuditEntry]]:
    """Before anything is asked: the jobs on which this person has the right, and the recorded refusals of the others.

    Refusals in queues that may not be seen are on record, but not among them. Raises as carry_out_each.
    """
    queues, admitted, refused, refusals = press.queues, [], [], []
    held = permissions_by_queue(press.actor, queues.values())
    right = RIGHT_FOR[press.verb]
    for tick in press.ticks:
        if right in held[press.connection, tick.queue]:
            admitted.append(tick)
            continue
        entry = _record(press, tick, code="", outcome="No right to do this.")
        try:
            require(press.actor, right, queues[tick.queue])
        except (PermissionDenied, QueueNotVisible) as refusal:
            refusals.append(refusal)
            refused += [entry] if isinstance(refusal, PermissionDenied) else []
    _raise_when_nothing_is_left(press, refusals)
    return admitted, refused


def _carry_out(press: Press, queue: Queue, tick: Tick) -> bool:
    """Act on one job; whether the store answered."""
    wish = Wish(
        actor=press.actor,
        queue=queue,
        job_id=tick.job_id,
        seen=tick.seen,
        reason=press.reason,
        # What is done at once was not asked about: a job that wants to be confirmed is then left for its own page.
        confirmed=tick.confirmed if press.verb in ASKING else "",
        batch=press.batch,
        now=timezone.now(),
    )
    try:
        return not carry_out(ACTS[press.verb], wish).is_unknown
    except JobNotFound:
        return True
    except BrokerUnavailable:
        return False


def _leave(press: Press, ticks: Sequence[Tick]) -> None:
    for tick in ticks:
        _record(press, tick, code=NOT_TRIED, outcome=LEFT)


def _record(press: Press, tick: Tick, *, code: str, outcome: str) -> AuditEntry:
    return ledger.record_refusal(
        actor=press.actor,
        verb=press.verb,
        subject=tick.job_id,
        connection=press.connection,
        queue=tick.queue,
        seen=tick.seen,
        reason=press.reason,
        batch=press.batch,
        decision_code=code,
        outcome=outcome,
        now=timezone.now(),
    )


def _raise_when_nothing_is_left(press: Press, refusals: Sequence[Exception]) -> None:
    """A lacking right says more than a queue that is not there."""
    if len(refusals) == len(press.ticks):
        raise next((one for one in refusals if isinstance(one, PermissionDenied)), refusals[0])
