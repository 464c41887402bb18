"""What people did, or wanted to."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.lengths import NAME_LENGTH


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
