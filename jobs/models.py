"""What SQL knows: who may see and do what, what was declared, what was intended and what became of it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.domain.idempotency import Idempotency
from jobs.domain.links import link_host

NAME_LENGTH = 512
"""RQ sets no bound on ids and queue names; longer ones are shown and never acted on."""


class Queue(models.Model):
    """One RQ queue of one Redis connection. It exists to carry object permissions: no row, no rights."""

    connection = models.CharField(max_length=64)
    name = models.CharField(max_length=NAME_LENGTH)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ("view",)
        permissions = [
            ("retry_job", _("Can retry failed jobs of this queue")),
            ("delete_job", _("Can delete jobs of this queue")),
            ("cancel_job", _("Can cancel and stop jobs of this queue")),
            ("resolve_review", _("Can say what became of jobs with unknown result")),
            ("triage_failure", _("Can acknowledge failures of this queue")),
            ("manage_access", _("Can give and take rights on queues")),
        ]
        constraints = [models.UniqueConstraint(fields=["connection", "name"], name="queue_once_per_connection")]
        ordering = ["connection", "name"]

    def __str__(self) -> str:
        return f"{self.connection}:{self.name}"


class JobType(models.Model):
    """What people declared about one function path. A path without a row counts as undeclared, thus unsafe."""

    path = models.CharField(max_length=NAME_LENGTH, unique=True)
    idempotency = models.CharField(
        max_length=16,
        choices=[(kind.value, kind.value) for kind in Idempotency],
        default=Idempotency.UNDECLARED.value,
    )
    remembered_for_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("How long the outside service recognises a repeated key (keyed only).")
    )
    id_parameters = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Arguments that are ids: a keyword's name, or #1 for the first positional."),
    )
    runbook_text = models.TextField(blank=True, help_text=_("How to find out what became of a run, and what to do."))
    runbook_url = models.URLField(max_length=500, blank=True, help_text=_("Where more is written about it."))
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    declared_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ("change",)
        ordering = ["path"]

    def __str__(self) -> str:
        return self.path

    @property
    def runbook_host(self) -> str:
        """Where the runbook's link leads; '' when there is none, or none to follow, whoever wrote it there."""
        return link_host(self.runbook_url)


class AuditEntry(models.Model):
    """One act of one person: written before the act (*intended*), closed once with what happened.

    `id` names the mark that the act leaves in Redis, so that an entry left open can be settled later; one that was
    settled too late to find a mark is *unsettled*. Entries of one press on many rows share a `batch`.
    """

    class Status(models.TextChoices):
        INTENDED = "intended", _("not known yet")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        CHANGED = "changed", _("not done: the job changed")
        NOT_DONE = "not_done", _("not done")
        UNSETTLED = "unsettled", _("never known")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150)
    verb = models.CharField(max_length=32)
    connection = models.CharField(max_length=64, blank=True)
    queue = models.CharField(max_length=NAME_LENGTH, blank=True)
    subject = models.CharField(max_length=NAME_LENGTH)
    """The job id; for acts that are not about a job, the job type's path or the person's name."""
    job_type = models.CharField(max_length=NAME_LENGTH, blank=True)
    seen = models.CharField(max_length=128, blank=True)
    decision_code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.INTENDED)
    outcome = models.TextField(blank=True)
    batch = models.UUIDField(null=True, blank=True, db_index=True)
    created_at = models.DateTimeField()
    deadline_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        permissions = [("view_audit", _("Can read the audit of every visible queue"))]
        ordering = ["-created_at", "-id"]
        # Each way of narrowing the audit, in the order it is read in. Few are written, so many indexes cost little.
        indexes = [
            models.Index(fields=["connection", "queue", "subject", "-created_at"], name="audit_by_job"),
            models.Index(fields=["-created_at", "-id"], name="audit_by_time"),
            models.Index(fields=["connection", "queue", "-created_at", "-id"], name="audit_by_queue"),
            models.Index(fields=["subject", "-created_at", "-id"], name="audit_by_subject"),
            models.Index(fields=["actor_name", "-created_at", "-id"], name="audit_by_person"),
            models.Index(fields=["verb", "-created_at", "-id"], name="audit_by_verb"),
            models.Index(fields=["status", "-created_at", "-id"], name="audit_by_status"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject} by {self.actor_name}: {self.status}"
