"""May this operation be run again? The decision table R1 to R24, as a pure answer (protocol, 2).

R2 (a restored database) is not there yet. What a page shows of an answer is advice: the worker asks again within the
transaction of its claim.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from jobs.domain.decisions import Action, Decision
from jobs.domain.effect_rules import judge_effects
from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import AskedBy, EffectState, EffectStatus, ErrorKind, OperationStatus, Snapshot
from jobs.domain.questions import Question, name_effects, quote


def decide(snapshot: Snapshot, now: datetime, asked_by: AskedBy, *, zone: tzinfo = UTC) -> Decision:
    """Whether the operation may be run (again) at `now`, and why: the first row that matches answers.

    Of several effects the most cautious answer counts. An effect that was given up or undone closes its whole
    operation, whatever the operation's own state: the job can't get past it, since it may neither be done again nor be
    taken for done (protocol, 1.3: both still block a new run).

    A job outside the layer has no rows that say what it did. Once it has started, R16 to R18 do not close it as failed,
    which would look as if nothing were open: it goes to R23, a review.
    """
    question = Question(snapshot=snapshot, now=now, asked_by=asked_by, zone=zone)
    answers = (row(question) for row in _ROWS)
    return next((answer for answer in answers if answer), None) or _r24_nothing_begun(question)


# ----------------------------------------------------------------------------------------------------------------------


def _r1_no_row(question: Question) -> Decision | None:
    if question.snapshot.exists:
        return None
    sentence = (
        "There is no record of it: it was never committed, or the database was restored. "
        "Nothing runs until the ledger is reconciled."
    )
    return Decision(Action.REFUSE, "operation_missing", sentence, "R1")


def _r3_other_arguments(question: Question) -> Decision | None:
    if question.snapshot.has_same_arguments:
        return None
    sentence = "This id already belongs to a request with other parameters. Use a new operation id."
    return Decision(Action.REFUSE, "args_mismatch", sentence, "R3")


def _r4_completed(question: Question) -> Decision | None:
    snapshot = question.snapshot
    if snapshot.status is not OperationStatus.COMPLETED:
        return None
    by = f" by attempt {snapshot.completed_by_attempt}" if snapshot.completed_by_attempt is not None else ""
    known_as = f" (known elsewhere as {snapshot.external_id})" if snapshot.external_id else ""
    sentence = f"It finished{question.at(snapshot.closed_at)}{by}{known_as}: running it again would do nothing."
    return Decision(Action.SKIP_DUPLICATE, "already_completed", sentence, "R4")


def _r5_closed(question: Question) -> Decision | None:
    """A failed one is closed to what runs by itself, and open to a person."""
    snapshot = question.snapshot
    if snapshot.is_abandoned:
        sentence = f"Given up{_by_whom(question)}: it may have taken effect, and is not run again."
    elif snapshot.status is OperationStatus.CANCELLED:
        sentence = f"Cancelled{_by_whom(question)}. Reopen it explicitly if that is intended."
    elif blocking := _having(snapshot, EffectStatus.ABANDONED):
        sentence = f"Given up, though it may have happened: {name_effects(blocking)}. Nothing is run again."
    elif blocking := _having(snapshot, EffectStatus.REVERSED):
        sentence = f"Undone by a person after it happened: {name_effects(blocking)}. Nothing is run again."
    elif snapshot.status is OperationStatus.FAILED and question.is_automatic:
        sentence = f"It failed{_by_whom(question)}. Only a person can have it run again."
    else:
        return None
    return Decision(Action.REFUSE, "closed", sentence, "R5")


def _r6_in_review(question: Question) -> Decision | None:
    if not question.snapshot.has_open_review:
        return None
    doubtful = _open_effects(question.snapshot)
    what = f"whether {name_effects(doubtful)} happened" if doubtful else "what its last attempt did"
    return Decision(Action.REFUSE, "review_open", f"Its review is open: a person must first say there {what}.", "R6")


def _r7_in_progress(question: Question) -> Decision | None:
    """`not_before` is when the attempt is dead for certain (protocol, Choices: one clock)."""
    attempt = question.snapshot.attempt
    if attempt is None or not attempt.is_live(question.now):
        return None
    action = Action.REFUSE if question.asked_by in (AskedBy.OPERATOR, AskedBy.BULK) else Action.WAIT
    worker = f" on worker {attempt.worker_name}" if attempt.worker_name else ""
    sentence = (
        f"Attempt {attempt.number} started at {question.moment(attempt.started_at)}{worker} "
        f"and may run until {question.moment(attempt.lease_until)}."
    )
    return Decision(action, "in_progress", sentence, "R7", not_before=attempt.lease_until)


def _r14_other_code(question: Question) -> Decision | None:
    """It counts as failed until then, so it is said what may have happened: nobody may take it for nothing."""
    left = _left_open(question.snapshot)
    if not question.snapshot.is_code_known:
        sentence = f"This release has no such function. Deploy code that accepts the stored call, then retry.{left}"
        return Decision(Action.REFUSE, "code_missing", sentence, "R14")
    if not question.snapshot.does_call_bind:
        sentence = (
            "The stored arguments do not fit the function’s parameters in this release. "
            f"Deploy code that accepts the stored call, then retry.{left}"
        )
        return Decision(Action.REFUSE, "signature_mismatch", sentence, "R14")
    return None


def _r15_cancelled(question: Question) -> Decision | None:
    """A wish, granted only as long as it is true that nothing has left the system."""
    snapshot = question.snapshot
    has_left = _open_effects(snapshot) or _having(snapshot, EffectStatus.COMPLETED) or _may_have_acted_unseen(snapshot)
    if not snapshot.is_cancel_requested or has_left:
        return None
    return Decision(Action.REFUSE, "cancelled", "Cancelled before anything left the system.", "R15")


def _r16_bad_data(question: Question) -> Decision | None:
    snapshot = question.snapshot
    is_permanent = snapshot.last_error is ErrorKind.PERMANENT and not _open_effects(snapshot)
    if not is_permanent or not question.is_automatic or _may_have_acted_unseen(snapshot):
        return None
    why = f": {quote(snapshot.last_message)}" if snapshot.last_message else ""
    sentence = f"Repeating will not help{why}. Fix the data, then retry, and say what was changed.{_done(snapshot)}"
    return Decision(Action.FAIL, "bad_data", sentence, "R16")


def _r17_poison(question: Question) -> Decision | None:
    snapshot = question.snapshot
    is_suspected = question.is_automatic and snapshot.lost_attempts >= snapshot.max_lost
    if not is_suspected or _may_have_acted_unseen(snapshot):
        return None
    why = f"{_count(snapshot.lost_attempts)} ended with the death of the process: the job itself may be what kills it."
    return _give_up(snapshot, why, code="poison_suspected", code_if_open="poison_open", rule="R17")


def _r18_exhausted(question: Question) -> Decision | None:
    """Without the operations of which only the final mark is missing, unless it is their own code that fails.

    Those go on to R20, and R17 bounds them: without an error to show for it, the last attempt was lost.
    """
    snapshot = question.snapshot
    is_exhausted = question.is_automatic and snapshot.attempts_used >= snapshot.max_attempts
    is_mark_missing = _are_all_done(snapshot) and snapshot.last_error in (None, ErrorKind.LOST)
    if not is_exhausted or is_mark_missing or _may_have_acted_unseen(snapshot):
        return None
    error = f", the last error was {quote(snapshot.last_message)}" if snapshot.last_message else ""
    why = f"{_count(snapshot.attempts_used)} of {snapshot.max_attempts} were made{error}."
    return _give_up(snapshot, why, code="attempts_exhausted", code_if_open="exhausted_open", rule="R18")


def _r19_not_due(question: Question) -> Decision | None:
    due_at = question.snapshot.next_attempt_at
    if not question.is_automatic or due_at is None or question.now >= due_at:
        return None
    sentence = f"Its next attempt is due at {question.moment(due_at)}."
    return Decision(Action.WAIT, "backoff", sentence, "R19", not_before=due_at)


def _r20_all_done(question: Question) -> Decision | None:
    if not _are_all_done(question.snapshot):
        return None
    sentence = "Only its final mark is missing: all its effects happened, and none of them is done again."
    return Decision(Action.RETRY, "resume_only", sentence, "R20")


def _r21_same_key(question: Question) -> Decision | None:
    """Past R10 to R13, an open keyed effect is one with the same request and a key that lives."""
    keyed = [effect for effect in _open_effects(question.snapshot) if effect.idempotency is Idempotency.KEYED]
    if not keyed:
        return None
    until = min(effect.key_valid_until for effect in keyed if effect.key_valid_until)
    sentence = (
        f"{name_effects(keyed)} may have happened, and the other side recognises a repeat by its key "
        f"until {question.moment(until)}: within that time doing it again does no harm."
    )
    return Decision(Action.RETRY, "same_key", sentence, "R21", asks=True)


def _r22_repeatable(question: Question) -> Decision | None:
    repeatable = _open_effects(question.snapshot)
    if not repeatable:
        return None
    sentence = (
        f"May have happened, but is declared repeatable: {name_effects(repeatable)}. Doing it again does no harm."
    )
    return Decision(Action.RETRY, "repeatable", sentence, "R22")


def _r23_undeclared(question: Question) -> Decision | None:
    if not _may_have_acted_unseen(question.snapshot):
        return None
    sentence = "It had begun, and nobody has declared whether this job may be repeated."
    return Decision(Action.REVIEW, "undeclared_started", sentence, "R23")


def _r24_nothing_begun(question: Question) -> Decision:
    snapshot = question.snapshot
    if done := _having(snapshot, EffectStatus.COMPLETED):
        sentence = f"Happened already, and not done again: {name_effects(done)}. No other outside effect was begun."
    elif released := _having(snapshot, EffectStatus.RELEASED):
        sentence = f"Known not to have happened: {name_effects(released)}. No other outside effect was begun."
    elif _has_started(snapshot):
        sentence = "No outside effect was begun by any attempt."
    else:
        sentence = "It has not been started yet."
    return Decision(Action.RETRY, "nothing_begun", sentence, "R24")


_ROWS = (
    _r1_no_row,
    _r3_other_arguments,
    _r4_completed,
    _r5_closed,
    _r6_in_review,
    _r7_in_progress,
    judge_effects,
    _r14_other_code,
    _r15_cancelled,
    _r16_bad_data,
    _r17_poison,
    _r18_exhausted,
    _r19_not_due,
    _r20_all_done,
    _r21_same_key,
    _r22_repeatable,
    _r23_undeclared,
)
"""In the table's order; R24 is what is left."""

# ----------------------------------------------------------------------------------------------------------------------


def _having(snapshot: Snapshot, status: EffectStatus) -> list[EffectState]:
    return [effect for effect in snapshot.effects if effect.status is status]


def _open_effects(snapshot: Snapshot) -> list[EffectState]:
    return [effect for effect in snapshot.effects if effect.is_open]


def _are_all_done(snapshot: Snapshot) -> bool:
    """Every declared effect happened. Of one in a loop nobody knows how many items there are to be."""
    done = {effect.name for effect in _having(snapshot, EffectStatus.COMPLETED) if not effect.item}
    is_any_left = any(effect.status is not EffectStatus.COMPLETED for effect in snapshot.effects)
    return bool(snapshot.declared_effects) and done.issuperset(snapshot.declared_effects) and not is_any_left


def _has_started(snapshot: Snapshot) -> bool:
    """Whether code of it may have run; doubt counts as a yes."""
    is_new = snapshot.status in (OperationStatus.ACCEPTED, OperationStatus.QUEUED)
    has_run = snapshot.attempts_used or snapshot.lost_attempts or snapshot.attempt or snapshot.last_error
    return not is_new or bool(has_run)


def _may_have_acted_unseen(snapshot: Snapshot) -> bool:
    return not snapshot.is_layered and _has_started(snapshot)


def _give_up(snapshot: Snapshot, why: str, *, code: str, code_if_open: str, rule: str) -> Decision:
    """Close it as failed; but a person is asked where that would bury an effect which may have happened."""
    doubtful = [effect for effect in _open_effects(snapshot) if effect.idempotency is not Idempotency.REPEATABLE]
    if doubtful:
        sentence = f"{why} {name_effects(doubtful)} may have happened: somebody has to find out first."
        return Decision(Action.REVIEW, code_if_open, sentence, rule)
    return Decision(Action.FAIL, code, f"{why} Retry by hand after finding the cause.{_done(snapshot)}", rule)


def _left_open(snapshot: Snapshot) -> str:
    """What may have happened of an operation that can't be taken up now."""
    doubtful = _open_effects(snapshot)
    return f" Begun, and may have happened: {name_effects(doubtful)}." if doubtful else ""


def _done(snapshot: Snapshot) -> str:
    """What did happen of an operation that is given up, so that nobody takes it for nothing."""
    done = _having(snapshot, EffectStatus.COMPLETED)
    return f" Happened already: {name_effects(done)}." if done else ""


def _by_whom(question: Question) -> str:
    """` by otto at <time>: “reason”`, as far as it is known."""
    snapshot = question.snapshot
    by = f" by {snapshot.closed_by}" if snapshot.closed_by else ""
    because = f": {quote(snapshot.reason)}" if snapshot.reason else ""
    return f"{by}{question.at(snapshot.closed_at)}{because}"


def _count(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
