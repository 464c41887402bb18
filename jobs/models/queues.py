"""Queues, which carry the object permissions, and what was declared of job types."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.domain.idempotency import Idempotency
from jobs.domain.links import link_host
from jobs.models.lengths import NAME_LENGTH


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
