"""How far the running attempt of an operation is: a number for people, on which no decision rests."""

from __future__ import annotations

from jobs.ledger.database import own_transaction
from jobs.models import Attempt, Operation


def note_progress(operation: Operation, attempt: Attempt, done: int, total: int | None) -> bool:
    """Note it, unless another attempt has the operation by now; False then.

    Raises RuntimeError inside a transaction: nobody would see it before that ends, and whoever wants the operation
    cancelled would wait for its row.
    """
    with own_transaction():
        held = Operation.objects.filter(pk=operation.pk, current_attempt=attempt.pk)
        return bool(held.update(progress_done=done, progress_total=total))
