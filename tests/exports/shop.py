"""A shop's orders, and somebody who may export them: for processes and tests that share no fixture."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import Permission, User

from exports.models import Export, Order


def a_person(name: str = "clara") -> User:
    """Somebody who may ask for exports, and nothing else."""
    person = User.objects.create_user(name, email=f"{name}@shop.example")
    person.user_permissions.add(Permission.objects.get(content_type__app_label="exports", codename="request_export"))
    return person


def stock(count: int, *, before: int = 0, apart: timedelta = timedelta(minutes=1)) -> None:
    """So many plain orders, behind those that were there before, each `apart` from the next, from 2025 on."""
    first = datetime(2025, 1, 1, tzinfo=UTC)
    Order.objects.bulk_create(
        (
            Order(
                number=f"O-{number:06}",
                placed_at=first + apart * number,
                customer=f"Customer {number}",
                note="",
                status=Order.Status.PAID,
                amount=Decimal(number) / 4,
            )
            for number in range(before, before + count)
        ),
        batch_size=2000,
    )


def read(export_id: int) -> Export:
    """What is on record of an export now."""
    return Export.objects.select_related("operation", "mail_operation").get(pk=export_id)


def outcomes(operation: object) -> list[str]:
    """How each attempt at an operation ended, in order; '' for one that goes on."""
    attempts = operation.attempts.filter(number__gt=0).order_by("number")  # type: ignore[attr-defined]  # of a row, or None
    return [one.outcome for one in attempts]
