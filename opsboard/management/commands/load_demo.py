"""`manage.py load_demo`: a shop with jobs that really run, and accounts to look at them with. Started by `make run`."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.models import Operation
from opsboard.demo.exports import are_settled, load_exports
from opsboard.demo.jobs import KILLED, have_run, load_jobs, wait_until
from opsboard.demo.operations import book_parcel, refund_order
from opsboard.demo.people import ACCOUNTS, CONNECTION, load_people, read_passwords

WAIT_SECONDS = 60
NOTICE_SECONDS = 20
OPERATION_IDS = (refund_order.operation_id(4702), book_parcel.operation_id(4701))


class Command(BaseCommand):
    help = "Fills the embedded stores with the demo; what is there already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.OPSBOARD_DEMO:
            raise CommandError("The demo goes into the embedded store only; start it with make run, without REDIS_URL.")
        passwords = read_passwords(settings.VAR_DIR)
        load_people(passwords)
        self._load(settings.OPSBOARD_CONNECTIONS[CONNECTION]["url"])
        if not wait_until(_are_looked_after, time.monotonic() + NOTICE_SECONDS):
            self.stdout.write(_("The observer has not looked at all of the demo's jobs yet; it will."))
        for account in ACCOUNTS:
            self.stdout.write(f"{account.name:<10}{passwords[account.name]:<16}{account.may}")

    def _load(self, url: str) -> None:
        load_jobs(url, seconds=WAIT_SECONDS)
        # The worker is at the other jobs meanwhile.
        if settings.OPSBOARD_EXPORTS:
            load_exports(timezone.now())
        if not have_run(url, seconds=WAIT_SECONDS):
            self.stdout.write(_("Some of the demo's jobs have not run yet; they will."))


def _are_looked_after() -> bool:
    """Whether the observer has noticed that nobody knows whether these cards were charged; or had, at a first start.

    And whether it has looked after the operations whose process was killed.
    """
    ids = [order.job_id for order in KILLED]
    plain = Operation.objects.filter(connection=CONNECTION, job_id__in=ids, origin=Operation.Origin.PLAIN)
    killed = Operation.objects.filter(operation_id__in=OPERATION_IDS)
    settled = killed.filter(status__in=(Operation.Status.UNKNOWN, Operation.Status.COMPLETED))
    return plain.count() == len(ids) and settled.count() == len(OPERATION_IDS) and are_settled()
