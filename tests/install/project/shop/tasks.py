"""The project's jobs, under RQ's own decorator: neither its queue nor its worker knows of Django."""

from __future__ import annotations

import os

# Before the project's models: under a stock worker it is this import that loads Django.
from jobs.safety import Keyed, hours, once, operation  # isort: skip

from redis import Redis
from rq.decorators import job
from shop.models import Letter

store = Redis.from_url(os.environ["REDIS_URL"])


@job("mail", connection=store, timeout=30)
@operation("invoice:{invoice_id}", entity="invoice_id")
def send_invoice(invoice_id: str) -> str:
    return once("send", lambda effect: _send(invoice_id, effect.key), safety=Keyed(hours(24)))


def _send(invoice_id: str, key: str) -> str:
    Letter.objects.create(invoice=invoice_id, connection=named_connection(), worker=os.getppid())
    return key


def named_connection() -> str:
    """The connection that this process talks to the database by, as nobody else names it."""
    from django.db import connection

    connection.ensure_connection()
    if connection.vendor == "postgresql":
        return str(connection.connection.info.backend_pid)
    return str(id(connection.connection))
