"""What every review shows, whatever it asks about: who has it, what was said in it, and where else to look."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from jobs.domain.arguments import Argument
from jobs.domain.idempotency import Idempotency
from jobs.domain.links import Link, build_links, link_host
from jobs.domain.verdicts import YES, Verdict
from jobs.ledger.reviews import resolutions_of
from jobs.models import AuditEntry, FailedJob, JobType, Operation, Resolution, Review
from jobs.permissions import Permission, may
from jobs.selectors.reviews import ReviewRow


@dataclass(frozen=True)
class Choice:
    """One verdict: what would come of it, or why it may not be said now."""

    verdict: Verdict
    sentence: str
    objection: str = ""


@dataclass(frozen=True)
class Ground:
    """One thing that was brought forward: a time where it is one, else a text; `host`: where a plain link leads."""

    name: str
    text: str
    at: datetime | None = None
    host: str = ""


@dataclass(frozen=True)
class Said:
    """One entry of what was said. `fate` of the run that it was to lead to: a key of the words table, or ''."""

    resolution: Resolution
    fate: str
    contradicts: bool
    """It says otherwise than what the review was closed with: that it did not happen, and that it did."""

    @property
    def is_late_evidence(self) -> bool:
        return self.resolution.source == Resolution.Source.LATE_EVIDENCE

    @property
    def closes(self) -> bool:
        """Whether the review was closed by it, or will be."""
        is_kept = self.resolution.verdict != Verdict.SNOOZE and not self.contradicts
        return is_kept and self.fate in ("", AuditEntry.Status.DONE)

    @property
    def grounds(self) -> tuple[Ground, ...]:
        evidence = self.resolution.evidence.items()
        return tuple(_ground(str(name), value) for name, value in evidence if value and name != "contradicts")


@dataclass(frozen=True, kw_only=True)
class ReviewHead:
    """What the pages of all reviews have in common."""

    review: Review
    operation: Operation
    arguments: tuple[Argument, ...]
    job_type: JobType | None
    idempotency: Idempotency
    links: tuple[Link, ...]
    choices: tuple[Choice, ...]
    liveness: str
    """Whether the old run may still act; '' when that can't be told now."""
    said: tuple[Said, ...]
    is_contradicted: bool
    """An incident: it was done again because it had not happened, and it had."""
    has_act_under_way: bool
    """What was said led to an act of which nobody knows yet whether it was carried out: until then nothing is said."""
    may_resolve: bool
    may_declare: bool
    may_read_audit: bool
    is_mine: bool
    """The reader holds it."""
    is_held: bool
    """Somebody holds it."""
    is_overdue: bool
    is_put_off: bool

    @property
    def is_open(self) -> bool:
        return self.review.closed_at is None

    @property
    def answer(self) -> Said | None:
        """What closed it."""
        return next((one for one in reversed(self.said) if not self.is_open and one.closes), None)

    @property
    def history(self) -> tuple[Said, ...]:
        """Everything that was said, unless the answer is all of it."""
        return () if self.answer and len(self.said) == 1 else self.said


def head_of(user: User, review: Review, rights: Collection[Permission], *, now: datetime) -> dict[str, Any]:
    """Those fields of ReviewHead that are told alike of every review."""
    operation, listed = review.operation, ReviewRow(review, now)
    return {
        "review": review,
        "operation": operation,
        "links": links_of(operation.operation_id, operation),
        "said": said_in(review),
        "may_resolve": Permission.RESOLVE_REVIEW in rights,
        "may_declare": may(user, Permission.CHANGE_JOBTYPE),
        "may_read_audit": may(user, Permission.VIEW_AUDIT),
        "is_mine": listed.is_held and review.claimed_by_id == user.pk,
        "is_held": listed.is_held,
        "is_overdue": listed.is_overdue,
        "is_put_off": listed.is_put_off,
    }


def links_of(operation_id: str, operation: Operation | FailedJob) -> tuple[Link, ...]:
    """Where else this operation can be looked up (OPSBOARD_LINKS)."""
    values = {name: getattr(operation, name) for name in ("job_id", "job_type", "queue", "connection")}
    return build_links(getattr(settings, "OPSBOARD_LINKS", ()), {"operation_id": operation_id, **values})


def time_of(value: object) -> datetime | None:
    """The time that an ISO 8601 text names; None for what is none, or can't be told in every zone."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return at if 1900 < at.year < 3000 else None


def said_in(review: Review) -> tuple[Said, ...]:
    """What was said in a review, in order, with what became of it."""
    return tuple(Said(one, _fate(one), _contradicts(review, one)) for one in resolutions_of(review))


def said_of(operation: Operation) -> list[Said]:
    """What was said in all the reviews of an operation, in order; one query."""
    resolutions = Resolution.objects.filter(review__operation=operation).select_related("audit_entry", "review")
    ordered = resolutions.order_by("created_at", "id")
    return [Said(one, _fate(one), _contradicts(one.review, one)) for one in ordered]


# ----------------------------------------------------------------------------------------------------------------------


def _fate(resolution: Resolution) -> str:
    entry = resolution.audit_entry
    if entry is None or resolution.verdict != Verdict.DID_NOT_HAPPEN:
        return ""
    return entry.status if entry.verb != "resolve_review" else ""


_TIMES = frozenset({"observed_at", "until", "ended_at", "key_valid_until"})


def _ground(name: str, value: object) -> Ground:
    text = "" if value is True or value == YES else str(value)
    at = time_of(value) if name in _TIMES else None
    return Ground(name, text, at, link_host(text) if name == "link" else "")


def _contradicts(review: Review, resolution: Resolution) -> bool:
    """Of a denial only one that was acted on: where nothing ran, late evidence simply answers the question."""
    said, other = {Verdict(resolution.verdict), Verdict(review.verdict or resolution.verdict)}, _fate(resolution)
    is_kept = resolution.verdict == Verdict.HAPPENED or other == AuditEntry.Status.DONE
    return said == {Verdict.HAPPENED, Verdict.DID_NOT_HAPPEN} and is_kept
