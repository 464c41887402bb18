"""`manage.py observe`: watches the job stores, and keeps in SQL what they forget."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.observer.loop import Observer


class Command(BaseCommand):
    help = "Indexes failed jobs as they fail, until it is stopped. It reads the job stores and never changes them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="Bring everything up to date once, then end.")

    def handle(self, *args: Any, **options: Any) -> None:
        observer = Observer()
        if options["once"]:
            self._once(observer)
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_signal: observer.stop())
        observer.run()

    def _once(self, observer: Observer) -> None:
        reports = observer.run_once()
        if reports is None:
            self.stdout.write("Nothing to do: another observer is at work.")
        elif errors := [report.error for report in reports if report.error]:
            raise CommandError("\n".join(errors))
