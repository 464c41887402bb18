"""What would follow if the attempt that runs failed now: the table is asked before, and nothing is written."""

from __future__ import annotations

from dataclasses import replace

from jobs.domain.decisions import Action
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, ErrorKind, Snapshot
from jobs.ledger.database import now as database_now
from jobs.ledger.moves import REST
from jobs.ledger.snapshots import snapshot_of
from jobs.models import Attempt, Operation


def goes_on_after_failure(operation: Operation, attempt: Attempt) -> bool:
    """Whether another attempt would follow by itself if this one failed with an error that may pass.

    True also where another attempt has the operation by now: then this one's end is not its end.
    """
    held = Operation.objects.filter(pk=operation.pk, current_attempt=attempt.pk).first()
    if held is None:
        return True
    now = database_now()
    # As `attempts.fail` would leave it before it asks.
    for name, value in (*REST.items(), ("last_error", ErrorKind.TRANSIENT)):
        setattr(held, name, value)
    decision = decide(_ended(snapshot_of(held, now)), now, AskedBy.AUTO)
    return decision.action in (Action.RETRY, Action.PROBE, Action.WAIT)


def _ended(snapshot: Snapshot) -> Snapshot:
    """The same once the attempt is over, so that none of its calls is under way any more."""
    over = (replace(effect, may_still_act=False, dead_after=None) for effect in snapshot.effects)
    return replace(snapshot, effects=tuple(over))
