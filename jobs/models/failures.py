"""The index of failures: a copy of what Redis showed, kept after it has forgotten."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.lengths import NAME_LENGTH


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
