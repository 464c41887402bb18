"""`manage.py settle_audit`: says of acts whose answer never came what became of them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from jobs.actions.settle import Settled, settle_open_entries
from jobs.models import AuditEntry

WORDS = {
    AuditEntry.Status.DONE: "done",
    AuditEntry.Status.NOT_DONE: "never carried out",
    AuditEntry.Status.UNSETTLED: "never to be known",
}


class Command(BaseCommand):
    help = "Closes audit entries that were left open, by the marks that their acts left in the job store."

    def handle(self, *args: Any, **options: Any) -> None:
        settled = settle_open_entries(now=timezone.now())
        self.stdout.write(_summary(settled))
        if silent := [_silence(settled, name) for name in settled.silent if name in settled.left]:
            raise CommandError("\n".join(silent))


def _summary(settled: Settled) -> str:
    counts = ", ".join(f"{settled.closed[status]} {word}" for status, word in WORDS.items())
    running = sum(count for name, count in settled.left.items() if name not in settled.silent)
    waiting = f" {running} still within their deadline." if running else ""
    return f"{settled.closed.total()} settled: {counts}.{waiting}"


def _silence(settled: Settled, name: str) -> str:
    return f"{settled.silent[name]} Acts that stay open there: {settled.left[name]}."
