"""`manage.py grant_first_access`: the first run's account, groups and rights."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.queues import queue_names
from jobs.first_access import FirstAccess, grant_first_access


class Command(BaseCommand):
    help = "On a first run: makes the account admin, records the queues found, and gives them to the groups."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queues", nargs="*", metavar="CONNECTION:QUEUE", help="these queues too")

    def handle(self, *args: Any, **options: Any) -> None:
        names = self._found()
        for queue in options["queues"]:
            connection, _colon, name = queue.partition(":")
            names[connection].append(name)
        self._report(grant_first_access(names))

    def _found(self) -> defaultdict[str, list[str]]:
        names: defaultdict[str, list[str]] = defaultdict(list)
        for connection in connections.names():
            try:
                names[connection] += queue_names(connection)
            except BrokerUnavailable as error:
                self.stderr.write(f"{error} {_('Its queues are given later, on the page Access.')}")
        return names

    def _report(self, done: FirstAccess) -> None:
        if done.admin_password:
            self.stdout.write(_("Account admin, password %(word)s (not shown again).") % {"word": done.admin_password})
        if not done.has_superuser:
            self.stdout.write(_("There is no superuser; make one with: python manage.py createsuperuser"))
        for queue in done.queues:
            self.stdout.write(_("Queue %(queue)s: given to Viewers, Operators and Leads.") % {"queue": queue})
