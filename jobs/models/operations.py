"""Operations with their attempts, effects and deliveries: what the job-safety layer knows (protocol, 1.1)."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import AttemptOutcome, EffectStatus
from jobs.models.lengths import NAME_LENGTH
from jobs.models.managers import LedgerManager


class Operation(models.Model):
    """One business intent with a stable id, which outlives retries and re-enqueues (protocol, 1.1 and 1.2).

    A plain RQ job that never heard of opsboard gets one, `rq:<connection>:<job id>`, when a review needs it: of those
    only what stands above `args` is used.
    """

    class Status(models.TextChoices):
        ACCEPTED = "accepted", _("accepted")
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        RETRY_WAIT = "retry_wait", _("waiting for a retry")
        UNKNOWN = "unknown", _("result unknown")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    class Origin(models.TextChoices):
        PLAIN = "plain", _("a plain job")
        SUBMITTED = "submitted", _("submitted")
        """Created by `.submit()`, in the transaction of who wanted it."""
        ADOPTED = "adopted", _("adopted")
        """Enqueued by `.delay()`, and on record since its first claim."""

    operation_id = models.CharField(max_length=600, unique=True)
    origin = models.CharField(max_length=16, choices=Origin.choices, default=Origin.PLAIN)
    connection = models.CharField(max_length=64)
    queue = models.CharField(max_length=NAME_LENGTH)
    job_id = models.CharField(max_length=NAME_LENGTH)
    """The RQ job of its newest delivery."""
    job_type = models.CharField(max_length=NAME_LENGTH, blank=True)
    job_created_at = models.DateTimeField(null=True)
    """Of a plain job. Ids can be used again, and what was said of one job is not said of the next."""
    status = models.CharField(max_length=16, choices=Status.choices)
    reason_code = models.CharField(max_length=64, blank=True)
    reason_text = models.TextField(blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    args = models.JSONField(default=dict, blank=True)
    """The call by parameter name: ids, as the layer takes nothing else. What it is delivered with again."""
    args_fingerprint = models.CharField(max_length=64, blank=True)
    """sha256 of the canonical JSON of `args`, in hex."""
    entity = models.CharField(max_length=200, blank=True)
    """The id of the business record that it is about."""
    dispatch = models.JSONField(default=dict, blank=True)
    """How it is enqueued (jobs.broker.deliveries.Dispatch): time limit and times-to-live in seconds, serializer."""
    policy = models.JSONField(default=dict, blank=True)
    """How it is retried (jobs.domain.backoff.Backoff): max_attempts, base and cap in seconds, max_lost.

    As its code had it when the operation was accepted or adopted: a later release changes it for new ones only.
    """
    declared_effects = models.JSONField(default=list, blank=True)
    attempts_used = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=0)
    """As a running total: an operator's retry raises it to one more than were used."""
    lost_attempts = models.PositiveIntegerField(default=0)
    """Since an operator last asked for a run."""
    last_error = models.CharField(max_length=16, blank=True)
    """ErrorKind of the newest attempt that failed, since an operator last asked for a run."""
    current_attempt = models.UUIDField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    """+1 with each claim and each takeover."""
    lease_until = models.DateTimeField(null=True, blank=True)
    """Until when the current attempt may act: its start, the job's time limit, and the grace of the settings."""
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    dispatched_at = models.DateTimeField(null=True, blank=True)
    """When it was last put on its queue."""
    due_at = models.DateTimeField(null=True, blank=True)
    """When the observer has to look after it at the latest; None once nobody has to (terminal, or in review)."""
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    progress_done = models.PositiveBigIntegerField(null=True, blank=True)
    """How far its newest attempt said it was, in units of its own; None while it has said nothing."""
    progress_total = models.PositiveBigIntegerField(null=True, blank=True)
    version = models.PositiveIntegerField(default=0)
    """Counts the decisions about it."""

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "queue", "job_id", "job_created_at"], name="operation_once_per_job"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="operation_by_due", condition=models.Q(due_at__isnull=False)),
            models.Index(fields=["status", "created_at"], name="operation_by_status"),
            models.Index(fields=["entity"], name="operation_by_entity", condition=~models.Q(entity="")),
        ]

    def __str__(self) -> str:
        return self.operation_id

    @property
    def is_layered(self) -> bool:
        """Whether its job runs through the job-safety layer."""
        return self.origin != self.Origin.PLAIN


class Attempt(models.Model):
    """One execution of an operation's job, or a delivery that was turned away at the claim. Ended once, never changed.

    The last fields name the process as nothing else is named: proof of its death rests on all four.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    """Of an execution 1, 2, …; of a delivery that was turned away 0."""
    fence = models.PositiveIntegerField()
    job_id = models.CharField(max_length=NAME_LENGTH)
    execution_id = models.CharField(max_length=64, blank=True)
    worker_name = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=20, blank=True, choices=[(one.value, one.value) for one in AttemptOutcome])
    """'' while it runs."""
    decision_code = models.CharField(max_length=64, blank=True)
    """The row of the table that let it begin, or turned it away."""
    error_kind = models.CharField(max_length=16, blank=True)
    error_class = models.CharField(max_length=200, blank=True)
    error_line = models.CharField(max_length=400, blank=True)
    """Masked, and without the values of arguments."""
    death_proof = models.CharField(max_length=64, blank=True)
    """How it was known that a lost one is dead: lease_over, process_gone, exit_recorded."""
    host = models.CharField(max_length=255, blank=True)
    boot_id = models.CharField(max_length=64, blank=True)
    pid_namespace = models.CharField(max_length=32, blank=True)
    pid = models.PositiveIntegerField(null=True)
    process_started = models.CharField(max_length=32, blank=True)
    """Clock ticks since boot, as /proc shows them."""

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["started_at", "id"]
        indexes = [models.Index(fields=["operation", "started_at"], name="attempt_by_operation")]

    def __str__(self) -> str:
        return f"{self.operation_id} #{self.number}"


class Effect(models.Model):
    """A named change outside our database: *begun* before the call, *completed* after it (protocol, 1.3)."""

    class Source(models.TextChoices):
        JOB = "job", _("the job")
        PROBE = "probe", _("a check with the other side")
        HUMAN = "human", _("a person")
        LATE_EVIDENCE = "late_evidence", _("late evidence")

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="effects")
    name = models.CharField(max_length=100)
    item = models.CharField(max_length=200, blank=True)
    """Which of many, for an effect in a loop; '' for the only one."""
    idempotency = models.CharField(max_length=16, choices=[(one.value, one.value) for one in Idempotency])
    status = models.CharField(max_length=16, choices=[(one.value, one.value) for one in EffectStatus])
    idempotency_key = models.CharField(max_length=255, blank=True)
    request_fingerprint = models.CharField(max_length=64, blank=True)
    key_valid_until = models.DateTimeField(null=True, blank=True)
    settles_in_seconds = models.FloatField(null=True, blank=True)
    """How long after the call the other side's answer about it may still change (checkable only)."""
    has_probe = models.BooleanField(default=False)
    probes_made = models.PositiveIntegerField(default=0)
    """Probes without an answer that settles it."""
    probe_text = models.CharField(max_length=400, blank=True)
    """What the newest probe said, masked."""
    begun_by = models.ForeignKey(Attempt, null=True, on_delete=models.PROTECT, related_name="effects")
    begun_at = models.DateTimeField(null=True, blank=True)
    """When it was last begun."""
    first_begun_at = models.DateTimeField(null=True, blank=True)
    """When the oldest of its calls was begun that may have happened: before `begun_at`, one of them was in doubt when
    it was begun again, and that a later call was not made proves nothing of the earlier one."""
    completed_at = models.DateTimeField(null=True, blank=True)
    external_id = models.CharField(max_length=255, blank=True)
    """What it is known as on the other side: the external correlation id."""
    result = models.JSONField(null=True, blank=True)
    """What the call returned, given back to a later attempt in its stead."""
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.JOB)
    """Who knew how it ended."""

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["operation", "name", "item"], name="effect_once_per_operation"),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.status}"


class Delivery(models.Model):
    """One time that an operation was put on its queue, and why. Append-only."""

    class Cause(models.TextChoices):
        SUBMIT = "submit", _("it was submitted")
        DELAY = "delay", _("it was enqueued by its code")
        NEVER_QUEUED = "never_queued", _("it was accepted and never queued")
        LOST = "lost", _("the job store lost it")
        RETRY = "retry", _("its retry was due")
        TAKEOVER = "takeover", _("its worker died")
        OPERATOR = "operator", _("somebody asked for it")
        REVIEW = "review", _("its review was answered")

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="deliveries")
    connection = models.CharField(max_length=64)
    queue = models.CharField(max_length=NAME_LENGTH)
    job_id = models.CharField(max_length=NAME_LENGTH)
    cause = models.CharField(max_length=16, choices=Cause.choices)
    at = models.DateTimeField()

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["at", "id"]
        indexes = [models.Index(fields=["connection", "queue", "job_id"], name="delivery_by_job")]

    def __str__(self) -> str:
        return f"{self.job_id} ({self.cause})"


class OperationEvent(models.Model):
    """Something that happened to an operation and has no record of its own. Append-only."""

    class Kind(models.TextChoices):
        DEDUP = "dedup", _("a repeat was skipped")
        """`code`: its cause (domain.operations.DedupCause)."""
        REFUSED = "refused", _("a delivery was turned away")
        """`code`: of the decision."""
        LATE_EVIDENCE = "late_evidence", _("late evidence")
        CONTRADICTION = "contradiction", _("contradicting evidence")
        """An incident: it was said or proved that it did not happen, and then it turned out that it did."""
        RELEASED = "released", _("proved not to have happened")
        PROBED = "probed", _("the other side was asked")
        TAKEN_OVER = "taken_over", _("taken over")
        CANCEL_REQUESTED = "cancel_requested", _("its cancelling was asked for")
        DECIDED = "decided", _("decided")
        """`code`: of the decision that moved it."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="events")
    attempt = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.PROTECT, related_name="events")
    effect = models.ForeignKey(Effect, null=True, blank=True, on_delete=models.PROTECT, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    code = models.CharField(max_length=64, blank=True)
    text = models.TextField(blank=True)
    at = models.DateTimeField()

    objects = LedgerManager()

    class Meta:
        default_permissions = ()
        base_manager_name = "objects"
        ordering = ["at", "id"]
        indexes = [models.Index(fields=["kind", "at"], name="event_by_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.code}"
