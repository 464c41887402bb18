"""How the records that decisions are taken from are read."""

from __future__ import annotations

from typing import TypeVar

from django.db import models, router

M = TypeVar("M", bound=models.Model)


class LedgerManager(models.Manager[M]):
    """Reads where it writes, whatever the routers say of reading.

    A replica lags behind: an effect that it does not show yet would be begun again.
    """

    def get_queryset(self) -> models.QuerySet[M]:
        return super().get_queryset().using(self._db or router.db_for_write(self.model))
