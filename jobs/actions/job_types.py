"""Declaring what a job type promises."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404

from jobs import ledger
from jobs.domain.idempotency import Idempotency
from jobs.models import JobType
from jobs.permissions import Permission, may

VERB = "declare_job_type"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a person says of a job type. `id_parameters`: keyword names, or #1 for the first positional argument."""

    idempotency: Idempotency
    remembered_for_seconds: int | None
    id_parameters: list[str]

    def __str__(self) -> str:
        ids = ", ".join(self.id_parameters) or "none named"
        kept = f" for {self.remembered_for_seconds} s" if self.remembered_for_seconds else ""
        return f"{self.idempotency}{kept}; ids: {ids}"


def declare_job_type(actor: User, path: str, declaration: Declaration, *, reason: str, now: datetime) -> JobType:
    """Store a declaration, and on record what it was and what it is. Raises Http404 without the right."""
    if not may(actor, Permission.CHANGE_JOBTYPE):
        ledger.record_refusal(actor=actor, verb=VERB, subject=path, outcome="No right to do this.", now=now)
        raise Http404
    with transaction.atomic():
        before = JobType.objects.select_for_update().filter(path=path).first()
        was = str(declaration_of(before)) if before else "undeclared"
        job_type, _ = JobType.objects.update_or_create(
            path=path,
            defaults={
                "idempotency": declaration.idempotency.value,
                "remembered_for_seconds": declaration.remembered_for_seconds,
                "id_parameters": declaration.id_parameters,
                "declared_by": actor,
            },
        )
        outcome = f"Was {was}. Is {declaration}."
        ledger.record_change(actor=actor, verb=VERB, subject=path, outcome=outcome, reason=reason, now=now)
    return job_type


def declaration_of(job_type: JobType) -> Declaration:
    """What is declared in a row."""
    return Declaration(
        idempotency=Idempotency(job_type.idempotency),
        remembered_for_seconds=job_type.remembered_for_seconds,
        id_parameters=[str(name) for name in job_type.id_parameters],
    )
