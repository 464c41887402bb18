"""What SQL knows: who may see and do what, what was declared, what failed, what was intended and what became of it.

Redis forgets a job after its time-to-live; what is recorded here outlives it. Only jobs.ledger writes the records below
JobType.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
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


class FailedJob(models.Model):
    """The index of failures: one row per job that was seen failed, kept after Redis has forgotten the job.

    It holds what a list shows and is searched by, never a hidden argument or a text that was not masked. A job that
    fails again keeps its row: `failed_at` and what belongs to it are of the newest failure, `attempts` of all.
    """

    class Place(models.TextChoices):
        FAILED = "failed", _("failed")
        """It stands in its queue's failed registry."""
        MOVED = "moved", _("no longer failed")
        """It is in Redis and not failed: it was retried, or is on its way."""
        GONE = "gone", _("gone from Redis")
        """Redis holds it no more, and nobody deleted it here: its time ran out, or something else deleted it."""
        DELETED = "deleted", _("deleted")
        """Somebody deleted it here; the audit says who."""

    digest = models.CharField(max_length=32, unique=True)
    """Of connection, queue and the id's own bytes (jobs.ledger.failures.digest_of): ids can be long, or no text."""
    connection = models.CharField(max_length=64)
    queue = models.CharField(max_length=NAME_LENGTH)
    job_id = models.CharField(max_length=NAME_LENGTH)
    """As it is shown; cut, or with replacement characters, where `can_open` is False."""
    can_open = models.BooleanField(default=True)
    job_type = models.CharField(max_length=NAME_LENGTH, blank=True)
    """The function's path; '' when the stored call can't be read."""
    place = models.CharField(max_length=16, choices=Place.choices, default=Place.FAILED)
    verdict = models.CharField(max_length=16, blank=True)
    """What a person said of it in a review (Resolution.Verdict): then it is no longer open. '' when nobody did."""
    is_open = models.BooleanField(default=True)
    """Whether somebody still has to look after it: failed or gone, without a verdict. Lists and counts ask this."""
    finding = models.CharField(max_length=32)
    error_class = models.CharField(max_length=200, blank=True)
    error_line = models.CharField(max_length=400, blank=True)
    note = models.CharField(max_length=200, blank=True)
    """What is odd about it, as a list says it; '' for most."""
    ids = models.JSONField(default=list, blank=True)
    """The arguments that were ids when it was read (domain.arguments.recorded_ids), shown as far as they still are."""
    hidden_arguments = models.PositiveIntegerField(default=0)
    seen = models.CharField(max_length=128, blank=True)
    """The token of its newest failure (records.seen_token), which an act on it must bring back."""
    score = models.CharField(max_length=32, blank=True)
    """Its score in the failed registry, by which a failure that was read is known again (ledger.failures.Known)."""
    failed_at = models.DateTimeField()
    """When the newest failure ended; when it was noticed, where Redis does not say. Lists are in this order."""
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(null=True)
    enqueued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    worker_name = models.CharField(max_length=200, blank=True)
    noticed_at = models.DateTimeField()
    """When the observer first saw its newest failure."""
    left_at = models.DateTimeField(null=True)
    """When it was seen to stand in the failed registry no more; from then on its retention counts."""

    class Meta:
        default_permissions = ()
        ordering = ["-failed_at", "-id"]
        # A list is read queue by queue and merged (jobs.selectors.failures): each way of narrowing it ends in the order
        # in which it is read, so that a page reads its rows and no more, whatever the other queues hold.
        indexes = [
            models.Index(fields=["connection", "queue", "is_open", "-failed_at", "-id"], name="failed_by_time"),
            models.Index(
                fields=["connection", "queue", "is_open", "job_type", "-failed_at", "-id"], name="failed_by_type"
            ),
            models.Index(
                fields=["connection", "queue", "is_open", "error_class", "-failed_at", "-id"], name="failed_by_error"
            ),
            models.Index(
                fields=["connection", "queue", "is_open", "finding", "-failed_at", "-id"], name="failed_by_finding"
            ),
            models.Index(fields=["connection", "place", "queue", "id"], name="failed_by_place"),
            models.Index(
                fields=["connection", "place", "queue"], name="failed_odd", condition=models.Q(can_open=False)
            ),
            models.Index(fields=["left_at"], name="failed_by_leaving"),
        ]

    def __str__(self) -> str:
        return f"{self.connection}:{self.queue}:{self.job_id}"


class ObservedAttempt(models.Model):
    """One run of a failed job that RQ recorded and the observer read, with its error, masked and compressed."""

    failed_job = models.ForeignKey(FailedJob, on_delete=models.CASCADE, related_name="attempts")
    result_id = models.CharField(max_length=64)
    """RQ's id of the result, by which it is stored once."""
    kind = models.CharField(max_length=32)
    worker_name = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    recorded_at = models.DateTimeField(null=True)
    error_class = models.CharField(max_length=200, blank=True)
    error_line = models.CharField(max_length=400, blank=True)
    compressed_text = models.BinaryField(default=bytes)
    """zlib of the masked traceback in UTF-8; empty when there is none."""
    is_shortened = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        ordering = ["-recorded_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["failed_job", "result_id"], name="attempt_once_per_result")]

    def __str__(self) -> str:
        return f"{self.kind} {self.result_id}"


class Operation(models.Model):
    """One business intent with a stable id, which outlives retries and re-enqueues (protocol, 1.1 and 1.2).

    A plain RQ job that never heard of opsboard gets one, `rq:<connection>:<job id>`, when a review needs it.
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

    operation_id = models.CharField(max_length=600, unique=True)
    connection = models.CharField(max_length=64)
    queue = models.CharField(max_length=NAME_LENGTH)
    job_id = models.CharField(max_length=NAME_LENGTH)
    job_type = models.CharField(max_length=NAME_LENGTH, blank=True)
    job_created_at = models.DateTimeField(null=True)
    """Ids can be used again, and what was said of one job is not said of the next: that is another operation."""
    status = models.CharField(max_length=16, choices=Status.choices)
    reason_code = models.CharField(max_length=64, blank=True)
    reason_text = models.TextField(blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "queue", "job_id", "job_created_at"], name="operation_once_per_job"
            ),
        ]

    def __str__(self) -> str:
        return self.operation_id


class Review(models.Model):
    """An open question: did the last run of this operation take effect? Closed by a recorded Resolution.

    One is open per operation at most. `version` counts what was done to it, so that a form from before is refused.
    """

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="reviews")
    run = models.CharField(max_length=128)
    """The run that is asked about (JobDetail.run): a run is reviewed once."""
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

    class Meta:
        default_permissions = ()
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

    class Meta:
        default_permissions = ()
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.actor_name or 'the observer'}"


class ObserverState(models.Model):
    """The one observer that leads, until when, and what it last said of its work. One row, called `observer`."""

    name = models.CharField(primary_key=True, max_length=16, default="observer")
    holder = models.UUIDField(null=True)
    host = models.CharField(max_length=255, blank=True)
    pid = models.PositiveIntegerField(null=True)
    leads_since = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    last_pass_at = models.DateTimeField(null=True)
    """When every connection was last looked at for new failures, as far as it answered."""
    report = models.JSONField(default=dict)
    """By connection: what was last read of it, and what kept it from being read (jobs.domain.watch.WatchReport)."""

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name
