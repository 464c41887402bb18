"""What may be said in a review, and what a person has to bring forward for it (protocol, 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from jobs.domain.decisions import Action, Case, Decision, decide_retry
from jobs.domain.findings import Finding
from jobs.domain.housekeeping import decide_enqueue
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.times import moment


class Verdict(StrEnum):
    """What a review can end in, or be put off by."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    ABANDON = "abandon"
    SNOOZE = "snooze"
    PROBE_AGAIN = "probe_again"
    """Ask the other side once more; for effects whose job code has a probe."""
    REVERSED = "reversed"
    """It happened, and somebody has undone it; for effects only."""


OF_RUNS = (Verdict.HAPPENED, Verdict.DID_NOT_HAPPEN, Verdict.ABANDON, Verdict.SNOOZE)
"""What may be said of a run of a plain job; of effects more (effect_verdicts.py)."""


@dataclass(frozen=True)
class Piece:
    """One thing that a verdict wants to know: the name it is sent and kept under, and what is said when it is missing.

    `is_tick`: a statement to agree to, not a text. `of`: one of the pieces of this name is enough.
    """

    name: str
    missing: str
    is_tick: bool = False
    of: str = ""


EVIDENCE: Mapping[Verdict, Sequence[Piece]] = {
    Verdict.HAPPENED: (
        Piece("where", "Say where you looked: the system, and the page or the query."),
        Piece("observed_at", "Say when it took effect, as that system shows it."),
        Piece("external_id", "Give its id there, or a link, or a quotation.", of="proof"),
        Piece("link", "", of="proof"),
        Piece("quote", "", of="proof"),
        Piece("matches", "Compare amount, recipient or whatever identifies it, and say that they match.", is_tick=True),
    ),
    Verdict.DID_NOT_HAPPEN: (
        Piece("where", "Say where you looked: the system, and the page or the query."),
        Piece("searched_for", "Say what you searched for: the ids, amounts or names."),
        Piece("window", "Say which time you searched, from when until when."),
        Piece("found_nothing", "Say that the search gave no result at all.", is_tick=True),
    ),
    Verdict.ABANDON: (
        Piece("reason", "Say why it is given up without knowing."),
        Piece("told", "Say who was told that it may have happened."),
    ),
    Verdict.SNOOZE: (
        Piece("until", "Say when somebody will look again."),
        Piece("owner", "Say who will look again."),
    ),
    Verdict.PROBE_AGAIN: (),
    Verdict.REVERSED: (
        Piece("undone_by", "Give the id of the refund, the credit note or whatever has undone it."),
        Piece("undone_why", "Say why it was undone."),
    ),
}
"""What each verdict wants, in the order in which it is asked."""

YES = "yes"
"""What is kept of a statement that was agreed to."""
LONGEST = 2000
"""Characters of one piece that are kept."""


def missing(verdict: Verdict, given: Mapping[str, str]) -> dict[str, str]:
    """What is still wanted: by the piece's name the sentence that asks for it. Empty when nothing is."""
    wanted: dict[str, str] = {}
    for piece in EVIDENCE[verdict]:
        group = [one.name for one in EVIDENCE[verdict] if piece.of and one.of == piece.of] or [piece.name]
        if piece.missing and not any(given.get(name, "").strip() for name in group):
            wanted[piece.name] = piece.missing
    return wanted


def decide_verdict(verdict: Verdict, case: Case) -> Decision:
    """Whether this may be said of the job now. Only *it did not happen* leads to a run, and must wait for it."""
    if verdict is Verdict.DID_NOT_HAPPEN:
        return _decide_retry_after_all(case)
    return Decision(Action.RECORD, verdict.value, RECORDS[verdict])


def liveness_sentence(case: Case) -> str:
    """Whether the old run may still act, as it is shown beside a verdict and kept with it."""
    if case.judgement.is_dead:
        return "The old run is proved dead: it can no longer act."
    if case.judgement.dead_after is None:
        return "The old run may still act: it has no time limit, and nothing proves that it ended."
    return f"The old run may still act, at the latest until {moment(case.judgement.dead_after, case.zone)}."


def _decide_retry_after_all(case: Case) -> Decision:
    """Nothing happened, so running it again does no harm, as if it were repeatable; all else stands in the way as ever.

    Above all the old run: while it may act, a search that found nothing proves nothing (protocol, 1.6). And what was
    said of an earlier run stays said. Where a later run has begun, nobody was asked what that one did: never a run.
    """
    if case.has_later_run:
        return _on_record_once_dead(case, LATER_RUN, _HAS_LATER_RUN)
    standing = replace(case.standing, has_open_review=False)
    freed = replace(case, promise=Promise(Idempotency.REPEATABLE), standing=standing)
    decision = (decide_enqueue if case.judgement.finding is Finding.LOST else decide_retry)(freed)
    if decision.allows_act:
        sentence = "It runs again, since nothing happened."
        return replace(decision, code="said_not_happened", sentence=sentence, asks=False)
    if decision.code not in _NEVER_RUN_FROM_HERE or case.judgement.finding is Finding.DONE_BUT_MARKED_FAILED:
        return decision
    return _on_record_once_dead(case, decision.code, decision.sentence)


def _on_record_once_dead(case: Case, code: str, why: str) -> Decision:
    """The answer is worth its record, as soon as it can be true for good."""
    if not case.judgement.is_dead:
        return Decision(Action.WAIT, "may_still_run", liveness_sentence(case))
    return Decision(Action.RECORD, code, f"It is put on record, and nothing runs. {why}")


LATER_RUN = "later_run"
"""The code of an answer about a run after which the job was queued or begun again."""
_HAS_LATER_RUN = "The job was queued or begun again since: what that later run did is another question."
_NEVER_RUN_FROM_HERE = frozenset(
    {"data_gone", "confusable_name", "rate_limited", "unreadable", "already_completed", "closed", "canceled"}
)
"""Codes of what no waiting changes: then the answer is worth its record all the same."""

RECORDS = {
    Verdict.HAPPENED: "It counts as done from then on: the job stays where it is, and is not run again.",
    Verdict.ABANDON: "It is closed without an answer, stays filed as “may have happened”, and is not run again.",
    Verdict.SNOOZE: "The review stays open, and is put off until then.",
}
"""What follows from a verdict that leads to no run, whatever is known of the job."""
