from __future__ import annotations

from django.db import models


class Letter(models.Model):
    """What a job has sent, and over which connection to the database, in whose child, it did so."""

    invoice = models.CharField(max_length=100)
    connection = models.CharField(max_length=100)
    worker = models.IntegerField()

    def __str__(self) -> str:
        return self.invoice
