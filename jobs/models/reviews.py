"""Open questions, and what was said to them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.models.audit import AuditEntry
from jobs.models.managers import LedgerManager
from jobs.models.operations import Attempt, Effect, Operation


class Review(models.Model):
    """An open question: did the last run of this operation take effect? Closed by a recorded Resolution.

    One is open per operation at most. `version` counts what was done to it, so that a form from before is refused.
    """

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="reviews")
    run = models.CharField(max_length=128)
    """The run that is asked about (JobDetail.run), or the effect and its attempt: each is reviewed once."""
    effect = models.ForeignKey(Effect, null=True, blank=True, on_delete=models.PROTECT, related_name="reviews")
    """The effect that is asked about; None where the job does not run through the job-safety layer."""
    attempt = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.PROTECT, related_name="reviews")
    """The attempt that began that effect."""
    code = models.CharField(max_length=64)
    """Why it was opened: the code of the decision that wants it (result_unknown, may_have_acted, key_expired)."""
    finding = models.CharField(max_length=32)
    sentence = models.TextField()
    evidence = models.JSONField(default=dict)
    """What is known of the run (jobs.judging.testimony_of), as of `looked_at`."""
    looked_at = models.DateTimeField(null=True)
    """When the store was last asked about it; None before the first time."""
    look_due_at = models.DateTimeField(default=timezone.now)
    """When it is to be asked again; the longest overdue is the first."""
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    opened_by_name = models.CharField(max_length=150, blank=True)
    """Who asked for a retry that needs it; '' when the observer opened it."""
    opened_at = models.DateTimeField()
    last_sign_of_life = models.DateTimeField(null=True)
    due_at = models.DateTimeField()
    """The age limit: from then on it is overdue."""
    snoozed_until = models.DateTimeField(null=True)
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    claimed_by_name = models.CharField(max_length=150, blank=True)
    claimed_until = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)
    closed_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=16, blank=True)

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["opened_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["operation"], condition=models.Q(closed_at=None), name="review_open_once_per_operation"
            ),
            models.UniqueConstraint(fields=["operation", "run"], name="review_once_per_run"),
        ]
        indexes = [
            models.Index(fields=["closed_at", "opened_at", "id"], name="review_by_age"),
            models.Index(fields=["look_due_at", "id"], name="review_by_look", condition=models.Q(closed_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.operation}: {self.verdict or 'open'}"


class Resolution(models.Model):
    """What one person, or late evidence, said in a review, and on what grounds. Append-only (protocol, 2.1).

    A verdict that leads to an act holds only when the act's audit entry is *done*.
    """

    class Verdict(models.TextChoices):
        HAPPENED = "happened", _("it happened")
        DID_NOT_HAPPEN = "did_not_happen", _("it did not happen")
        ABANDON = "abandon", _("abandoned")
        SNOOZE = "snooze", _("put off")
        PROBE_AGAIN = "probe_again", _("to be checked again")
        REVERSED = "reversed", _("it happened, and was undone")

    class Source(models.TextChoices):
        HUMAN = "human", _("a person")
        LATE_EVIDENCE = "late_evidence", _("late evidence")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="resolutions")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.HUMAN)
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    version_seen = models.PositiveIntegerField()
    evidence = models.JSONField(default=dict)
    """What the person brought forward, by the names of jobs.domain.verdicts; of late evidence the result's own."""
    reason = models.TextField(blank=True)
    liveness = models.TextField(blank=True)
    """What was known of the old run at that moment: dead and since when, or until when it may act."""
    decision_code = models.CharField(max_length=64, blank=True)
    snoozed_until = models.DateTimeField(null=True)
    audit_entry = models.OneToOneField(AuditEntry, null=True, on_delete=models.PROTECT, related_name="resolution")
    created_at = models.DateTimeField()

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.actor_name or 'the observer'}"
