"""`manage.py load_demo`: a shop with jobs that really run, and accounts to look at them with. Started by `make run`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from opsboard.demo.jobs import load_jobs
from opsboard.demo.people import ACCOUNTS, CONNECTION, load_people, read_passwords

WAIT_SECONDS = 60


class Command(BaseCommand):
    help = "Fills the embedded stores with the demo; what is there already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.OPSBOARD_DEMO:
            raise CommandError("The demo goes into the embedded store only; start it with make run, without REDIS_URL.")
        passwords = read_passwords(settings.VAR_DIR)
        load_people(passwords)
        if not load_jobs(settings.OPSBOARD_CONNECTIONS[CONNECTION]["url"], seconds=WAIT_SECONDS):
            self.stdout.write(_("Some of the demo's jobs have not run yet; they will."))
        for account in ACCOUNTS:
            self.stdout.write(f"{account.name:<10}{passwords[account.name]:<16}{account.may}")
