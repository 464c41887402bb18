"""Two jobs of the shop that run through the job-safety layer. The process of each is killed just after its effect.

Nobody but a person can know whether the refund was made, so it is asked about. The carrier recognises a parcel by its
key, so that one is booked again under the same key, comes to the same parcel, and nobody is asked.
"""

from __future__ import annotations

from jobs.safety import Keyed, Unsafe, days, once, operation
from opsboard.demo.tasks import die_once, read_down, write_down

REFUNDS = "refunds"
PARCELS = "parcels"


@operation("refund:{order_id}", entity="order_id", effects=["refund"])
def refund_order(order_id: int) -> None:
    """Pays back. The bank does not recognise a repeat."""
    once("refund", lambda: _pay_back(order_id), safety=Unsafe())


@operation("parcel:{order_id}", entity="order_id", effects=["book-parcel"])
def book_parcel(order_id: int) -> None:
    """Books a parcel. The carrier answers a key that it knows with the parcel that it has."""
    once("book-parcel", lambda effect: _book(order_id, effect.key), safety=Keyed(days(7)))


def _pay_back(order_id: int) -> str:
    write_down(REFUNDS, {"order": order_id})
    die_once(f"refund-{order_id}")
    return f"refund-{order_id}"


def _book(order_id: int, key: str) -> str:
    known = {entry["key"]: entry["parcel"] for entry in read_down(PARCELS)}
    if key not in known:
        known[key] = f"PARCEL-{order_id}"
        write_down(PARCELS, {"key": key, "parcel": known[key]})
        die_once(f"parcel-{order_id}")
    return str(known[key])
