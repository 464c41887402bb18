"""`manage.py load_demo`: a shop with jobs that really run, and accounts to look at them with. Started by `make run`."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from jobs.models import Operation
from opsboard.demo.jobs import KILLED, OPERATIONS, load_jobs, wait_until
from opsboard.demo.people import ACCOUNTS, CONNECTION, load_people, read_passwords

WAIT_SECONDS = 60
NOTICE_SECONDS = 20


class Command(BaseCommand):
    help = "Fills the embedded stores with the demo; what is there already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.OPSBOARD_DEMO:
            raise CommandError("The demo goes into the embedded store only; start it with make run, without REDIS_URL.")
        passwords = read_passwords(settings.VAR_DIR)
        load_people(passwords)
        if not load_jobs(settings.OPSBOARD_CONNECTIONS[CONNECTION]["url"], seconds=WAIT_SECONDS):
            self.stdout.write(_("Some of the demo's jobs have not run yet; they will."))
        if not wait_until(_are_in_review, time.monotonic() + NOTICE_SECONDS):
            self.stdout.write(_("The observer has not looked at all of the demo's jobs yet; it will."))
        for account in ACCOUNTS:
            self.stdout.write(f"{account.name:<10}{passwords[account.name]:<16}{account.may}")


def _are_in_review() -> bool:
    """Whether the observer has noticed that nobody knows whether these cards were charged; or had, at a first start.

    And whether it has looked after the two operations whose process was killed.
    """
    ids = [order.job_id for order in KILLED]
    layered = Operation.objects.exclude(origin=Operation.Origin.PLAIN)
    still_open = layered.exclude(status__in=(Operation.Status.UNKNOWN, Operation.Status.COMPLETED))
    plain = Operation.objects.filter(connection=CONNECTION, job_id__in=ids, origin=Operation.Origin.PLAIN)
    return plain.count() == len(ids) and layered.count() == len(OPERATIONS) and not still_open.exists()
