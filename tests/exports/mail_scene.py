"""What tests of the mail share: a server that is told how to behave, exports that are ready, and people who decide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from exports.files import path_of
from exports.mail_states import mail_state
from exports.models import Export
from exports.states import ExportState, state_of
from exports.tasks import mail_export
from jobs.actions.reviews import Answer, Saying, claim, resolve
from jobs.domain.verdicts import Verdict
from jobs.models import Review
from jobs.observer import operations
from jobs.safety import Backoff
from opsboard.mail import SERVER
from tests.exports.smtp_sink import Sink, smtp_sink
from tests.support.reviews import GIVEN

PATIENT, SHORT, IMPATIENT = 20.0, 1.5, 0.3
"""Seconds that an answer is waited for: where one comes, where one does at first, and where none does."""
CLARA = "clara@shop.example"
TRIES = 9
"""So often a mail is tried by itself that is surely not sent."""
GIVEN_UP = " ".join([*["retrying"] * (TRIES - 1), "failed"])
"""How these attempts end."""


@contextmanager
def sink_in_use(settings: Any, **how: Any) -> Iterator[Sink]:
    """Mails of this process go there."""
    with smtp_sink(**how) as sink:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SERVER, "127.0.0.1", sink.port
        settings.EMAIL_TIMEOUT = PATIENT
        yield sink


def mailing_to(sink: Sink) -> dict[str, str]:
    """The variables of a site's processes that send their mails there, as the product does."""
    return {"DJANGO_SETTINGS_MODULE": "opsboard.settings", "OPSBOARD_MAIL_URL": f"smtp://127.0.0.1:{sink.port}"}


def retry_at_once(monkeypatch: Any) -> None:
    """The mails that are submitted from now on are tried again without a pause."""
    backoff = mail_export.kind.retry  # type: ignore[attr-defined]  # of @operation
    kind = replace(mail_export.kind, retry=Backoff(max_attempts=backoff.max_attempts, base=0))  # type: ignore[attr-defined]  # as above
    monkeypatch.setattr(mail_export, "kind", kind)


def read(export: Export) -> Export:
    """As it is on record now."""
    return Export.objects.select_related("operation", "mail_operation", "owner").get(pk=export.pk)


def told_of(export: Export) -> tuple[str, str, str]:
    """How the mail's operation stands, how its attempts ended, and what the owner reads.

    Whatever becomes of the mail: the export was run once, is ready, and its file is there.
    """
    export = read(export)
    assert export.operation is not None and export.mail_operation is not None
    assert export.operation.attempts_used == 1
    assert state_of(export, timezone.now()) is ExportState.READY
    assert path_of(export.pk).stat().st_size == export.size
    attempts = export.mail_operation.attempts.filter(number__gt=0).order_by("number")
    return export.mail_operation.status, " ".join(one.outcome for one in attempts), mail_state(export).value


def observe() -> None:
    """One look of the observer at the operations."""
    operations.take_over_dead(timezone.now())
    operations.deliver("default", timezone.now())


def say(person: User, verdict: Verdict, review: Review | None = None) -> Answer:
    """He takes the review, or the only one that is open, and says it."""
    review = review or Review.objects.get(closed_at=None)
    claim(person, review.pk, timezone.now())
    review.refresh_from_db()
    return resolve(
        Saying(
            actor=person,
            review_id=review.pk,
            verdict=verdict,
            version=review.version,
            given=GIVEN[verdict],
            now=timezone.now(),
        )
    )
