"""The observer about itself."""

from __future__ import annotations

from django.db import models


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
