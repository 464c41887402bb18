"""The two jobs of an export: one builds its file and may be repeated, one says so by mail and may not.

Only an id goes into a job: calls are stored and shown, and what the id stands for is read anew by each attempt. The
functions keep accepting what the release before has stored (docs/deploy.md): a new parameter gets a default, and one
that is given up stays for a release.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.translation import gettext as _
from django_rq import job

from exports.expiry import remove_expired
from exports.files import path_of
from exports.mailing import mail_connection, send_ready_mail
from exports.models import Export
from exports.periods import NoSuchPeriod, read_period
from exports.states import ExportState, looking_into_it, state_of
from exports.writing import Written, write_file
from jobs.safety import (
    Backoff,
    PermanentError,
    Repeatable,
    TransientError,
    Unsafe,
    atomic_effect,
    is_last_attempt,
    minutes,
    once,
    operation,
)

EXPORTS_QUEUE, MAIL_QUEUE = "exports", "mail"
BUILD_SECONDS = 1800
"""Also how long an export waits whose attempt died where nobody can prove it, as after a restart of the machine."""
LONGEST_WRITING = minutes(25)
MAIL_SECONDS = 180
LONGEST_MAILING = timedelta(seconds=150)
"""Whatever OPSBOARD_CALL_TIMEOUT_SECONDS is: no mail would ever be begun if it were longer than the job may run."""
PATIENCE_SECONDS, LOOK_SECONDS = 5.0, 0.2
REMOVED_BY_A_BUILD = 20

log = structlog.get_logger("opsboard.exports")


class FileGone(PermanentError):
    """The file was written by an attempt before, and is not there as it was: no further attempt would write it."""


@job(EXPORTS_QUEUE, timeout=BUILD_SECONDS)
@operation(
    "export:{export_id}",
    entity="export_id",
    retry=Backoff(max_attempts=5, base=15, cap=600),
    bad_data=[NoSuchPeriod],
    effects=["file", "ready"],
)
def build_export(export_id: int) -> None:
    """Writes the file, and makes the export ready. A repeat replaces the file by one of the same name."""
    export = _export(export_id)
    _make_room()
    with _telling_the_owner(export):
        period = read_period(export.period, timezone.get_default_timezone(), timezone.now())
        written = once(
            "file",
            lambda: write_file(export, period).to_json(),
            safety=Repeatable(),
            call_timeout=LONGEST_WRITING,
        )
        _make_ready(export, Written(**written))


@job(MAIL_QUEUE, timeout=MAIL_SECONDS)
@operation(
    "export-mail:{export_id}",
    entity="export_id",
    # For some hours: a mail server that is down for longer is somebody's to look at.
    retry=Backoff(max_attempts=9, base=60, cap=3600),
    effects=["mail"],
)
def mail_export(export_id: int) -> None:
    """Says that the export is ready. A mail server takes a repeat for another mail, so none is sent in doubt.

    The completed effect is the mark that it was sent.
    """
    export = _once_ready(export_id)
    with mail_connection() as server:
        once(
            "mail",
            lambda effect: send_ready_mail(server, export, effect.key),
            safety=Unsafe(),
            call_timeout=LONGEST_MAILING,
        )


# ----------------------------------------------------------------------------------------------------------------------


def _export(export_id: int) -> Export:
    export = Export.objects.select_related("owner", "operation").filter(pk=export_id).first()
    if export is None:
        raise PermanentError(f"There is no export {export_id}: its record was removed.")
    return export


def _once_ready(export_id: int) -> Export:
    """The export, once its page says that it is ready: whoever follows the link of the mail must find it so.

    As a rule the attempt that has submitted the mail is just about to end. Where it died, the observer, or another
    attempt, completes the operation; this one may hold the only worker there is, so it does not wait for that.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while state_of(export := _export(export_id), timezone.now()) in (ExportState.ACCEPTED, ExportState.RUNNING):
        if time.monotonic() > until:
            raise TransientError("The export is not on record as completed yet.", retry_after=minutes(1))
        time.sleep(LOOK_SECONDS)
    return export


def _make_room() -> None:
    """Remove a few files whose time is over, should no timer do it. What goes wrong there must not fail this export."""
    try:
        remove_expired(timezone.now(), REMOVED_BY_A_BUILD)
    except (OSError, DatabaseError, InterfaceError) as error:
        log.warning("expired files were not looked for", error=type(error).__name__)


@contextmanager
def _telling_the_owner(export: Export) -> Iterator[None]:
    """What goes wrong for good is written down in words for the owner before it is raised: nobody waits for ever."""
    try:
        yield
    except NoSuchPeriod as error:
        _write_down(export, str(error))
        raise
    except FileGone:
        # Nobody who looks into it can mend this one.
        _write_down(export, _("Its file was lost before it was ready. Ask for the export again."))
        raise
    except Exception as error:
        if is_last_attempt() or isinstance(error, PermanentError):
            _write_down(export, looking_into_it())
        if isinstance(error, OSError) and error.filename is not None:
            raise _without_path(error) from None
        raise


def _without_path(error: OSError) -> OSError:
    """The same, for those who look after the job: it is known by its id, and where its file lies is nothing for a page.

    What is raised keeps its number, and so its kind; the place in the code it was raised at stays to be seen.
    """
    return OSError(error.errno, error.strerror).with_traceback(error.__traceback__)


def _write_down(export: Export, reason: str) -> None:
    try:
        Export.objects.filter(pk=export.pk).update(reason=reason)
    except (DatabaseError, InterfaceError):
        # What made the job fail is worth more than what we have to say about it.
        return


def _make_ready(export: Export, written: Written) -> None:
    """Put what is known of the file on record, and submit the mail: both, or neither."""
    with atomic_effect("ready") as done:
        if done.completed:
            return
        _require_whole(export, written)
        now = timezone.now()
        mail = mail_export.submit(export.pk) if export.owner.email else None  # type: ignore[attr-defined]  # of @operation
        is_there = Export.objects.filter(pk=export.pk).update(
            rows=written.rows,
            size=written.size,
            sha256=written.sha256,
            ready_at=now,
            expires_at=now + timedelta(days=settings.OPSBOARD_EXPORTS_DAYS),
            mail_operation=mail,
            reason="",
        )
        if not is_there:
            # Takes the mail back as well, which would be about nothing.
            raise PermanentError(f"The record of export {export.pk} was removed meanwhile.")


def _require_whole(export: Export, written: Written) -> None:
    """An attempt before this one may have written it, and somebody removed it since."""
    path = path_of(export.pk)
    if not path.exists() or path.stat().st_size != written.size:
        raise FileGone(f"The file of export {export.pk} was written and is not there any more.")
