"""Django's development server, on a loopback address only.

Built on the plain command, not on that of staticfiles: its handler would answer for static files before any middleware.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import runserver

from opsboard.access.addresses import is_loopback


class Command(runserver.Command):
    addr: str

    def run(self, **options: Any) -> None:
        if self.addr != "localhost" and not is_loopback(self.addr):
            raise CommandError("opsboard listens on 127.0.0.1 only; give a port, or 127.0.0.1 and a port.")
        super().run(**options)
