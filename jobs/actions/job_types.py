"""Declaring what a job type promises."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import Http404

from jobs import ledger
from jobs.domain.idempotency import Idempotency
from jobs.models import JobType
from jobs.permissions import Permission, may

VERB = "declare_job_type"
MAX_WORDS = 60
"""Characters of a value that go on record: enough to know it again."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What people say of a job type; the names are those of JobType's columns.

    `id_parameters`: keyword names, or #1 for the first positional argument. `runbook_text` and `runbook_url` tell how
    to find out what became of a run, and what to do then.
    """

    idempotency: Idempotency = Idempotency.UNDECLARED
    remembered_for_seconds: int | None = None
    id_parameters: list[str] = field(default_factory=list)
    runbook_text: str = ""
    runbook_url: str = ""


class DeclaredMeanwhile(Exception):
    """Somebody else has declared the type since the person looked; nothing was changed."""


def declare_job_type(
    actor: User, path: str, declaration: Declaration, *, based_on: str, reason: str, now: datetime
) -> JobType:
    """Store a declaration, and on record what it was and what it is.

    `based_on`: the `version_of` what the person saw. Raises Http404 without the right, DeclaredMeanwhile when that is
    not what is there any more; both are on record.
    """
    require_declarer(actor, path, now=now)
    try:
        with transaction.atomic():
            return _declare(actor, path, declaration, based_on=based_on, reason=reason, now=now)
    except (DeclaredMeanwhile, IntegrityError):
        # IntegrityError: two people declared a path for the first time, and no row was there to lock.
        outcome = "Not done: somebody else declared it meanwhile."
        ledger.record_refusal(actor=actor, verb=VERB, subject=path, outcome=outcome, reason=reason, now=now)
        raise DeclaredMeanwhile from None


def require_declarer(actor: User, path: str, *, now: datetime) -> None:
    """Nothing for who may declare. Raises Http404 for others; that they tried is on record."""
    if not may(actor, Permission.CHANGE_JOBTYPE):
        ledger.record_refusal(actor=actor, verb=VERB, subject=path, outcome="No right to do this.", now=now)
        raise Http404


def version_of(job_type: JobType | None) -> str:
    """What a form carries to say which declaration it was based on; '' for none."""
    return job_type.declared_at.isoformat() if job_type else ""


def _declare(actor: User, path: str, declaration: Declaration, *, based_on: str, reason: str, now: datetime) -> JobType:
    before = JobType.objects.select_for_update().filter(path=path).first()
    if version_of(before) != based_on:
        raise DeclaredMeanwhile
    job_type = before or JobType(path=path)
    outcome = _difference(_declaration_of(before) if before else Declaration(), declaration)
    for name, value in asdict(declaration).items():
        setattr(job_type, name, value)
    job_type.declared_by = actor
    job_type.save(force_insert=before is None)
    ledger.record_change(actor=actor, verb=VERB, subject=path, outcome=outcome, reason=reason, now=now)
    return job_type


def _declaration_of(job_type: JobType) -> Declaration:
    return Declaration(
        idempotency=Idempotency(job_type.idempotency),
        remembered_for_seconds=job_type.remembered_for_seconds,
        id_parameters=[str(name) for name in job_type.id_parameters],
        runbook_text=job_type.runbook_text,
        runbook_url=job_type.runbook_url,
    )


def _difference(was: Declaration, becomes: Declaration) -> str:
    """What changed, a sentence for each part: "Run again: was undeclared, is keyed."."""
    old, new = asdict(was), asdict(becomes)
    return (
        " ".join(
            f"{label}: was {_in_words(old[name])}, is {_in_words(new[name])}."
            for name, label in _LABELS.items()
            if old[name] != new[name]
        )
        or "Declared again as it was."
    )


_LABELS = {
    "idempotency": "Run again",
    "remembered_for_seconds": "Key recognised for",
    "id_parameters": "Ids",
    "runbook_text": "Runbook",
    "runbook_url": "Runbook link",
}


def _in_words(value: str | int | list[str] | None) -> str:
    """A value on one line: seconds in hours, prose in quotes and by its beginning when it is long."""
    if not value:
        return "none"
    if isinstance(value, int):
        return f"{value / 3600:g} h"
    line = " ".join((", ".join(value) if isinstance(value, list) else value).split())
    line = line if len(line) <= MAX_WORDS else f"{line[:MAX_WORDS]}…"
    return f"“{line}”" if isinstance(value, str) and " " in line else line
