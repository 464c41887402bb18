"""`manage.py make_orders 40000`: made-up orders to export, for trying out and for measuring."""

from __future__ import annotations

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext as _

from exports.orders import MOST, make_orders

TOLD_EACH = 100_000


class Command(BaseCommand):
    help = "Adds made-up orders of the last years. It never changes or removes one that is there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("count", help="how many to add")
        parser.add_argument("--seed", type=int, default=1, help="another number makes other orders")

    def handle(self, *args: Any, **options: Any) -> None:
        count = _count(options["count"])
        try:
            made = make_orders(
                count, timezone.now(), seed=options["seed"], told=lambda stored: self._tell(stored, count)
            )
        except IntegrityError:
            raise CommandError(
                "Somebody else adds orders at the same time; call it again when they are done."
            ) from None
        said = {"count": f"{count:,}", "first": made.first, "last": made.last, "before": f"{made.before:,}"}
        self.stdout.write(
            _("Added %(count)s orders, %(first)s to %(last)s, to the %(before)s that were there.") % said
            if made.before
            else _("Added %(count)s orders, %(first)s to %(last)s.") % said
        )

    def _tell(self, stored: int, count: int) -> None:
        if stored % TOLD_EACH == 0 and stored < count:
            self.stdout.write(_("%(stored)s of %(count)s") % {"stored": f"{stored:,}", "count": f"{count:,}"})
            self.stdout.flush()


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not 1 <= int(text) <= MOST:
        raise CommandError(f"The number of orders must be a whole number from 1 to {MOST}, written like 40000.")
    return int(text)
