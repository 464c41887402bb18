"""What the clerk of the shop has asked for: orders to export, and three exports that its worker really runs.

One is ready. One is of a month that does not exist. And of one the process that sends its mail is killed as soon as the
mail is out (opsboard.demo.mail), so that a person has to look whether it was sent.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User

from exports.models import Export, Order
from exports.orders import make_orders
from exports.requesting import request_export
from jobs.models import Operation
from opsboard.demo.people import CLERK

ORDERS = 40_000
WISHES = ("{year}-Q4", "{year}", "{year}-13")
"""In this order, for it is the first mail of all whose process is killed."""
SETTLED = (Operation.Status.COMPLETED, Operation.Status.FAILED, Operation.Status.UNKNOWN)


def load_exports(now: datetime) -> None:
    """Make the orders, and ask for the exports, if neither was done."""
    if not Order.objects.exists():
        make_orders(ORDERS, now)
    clerk = User.objects.get(username=CLERK)
    if not Export.objects.filter(owner=clerk).exists():
        for wish in WISHES:
            request_export(clerk, wish.format(year=now.year - 1), "")


def are_settled() -> bool:
    """Whether it is known what has become of them, or was at a first start, as far as that can be known."""
    found = Export.objects.filter(owner__username=CLERK).order_by("pk")[: len(WISHES)]
    return all(
        one is None or one.status in SETTLED
        for export in found.select_related("operation", "mail_operation")
        for one in (export.operation, export.mail_operation)
    )
