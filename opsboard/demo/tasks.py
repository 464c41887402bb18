"""The shop's jobs. Which of them fail follows from the ids, so that every first run shows the same."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from rq import Retry

ORDERS = {
    4701: {"total": "89.00", "card": "ok"},
    4702: {"total": "12.50", "card": "ok"},
    4703: {"total": "240.00", "card": "declined"},
    4711: {"total": "1,499.00", "card": "ok"},
    4712: {"total": "1,499.00", "card": "ok"},
    4718: {"total": "64.90", "card": "slow"},
}
STATEMENT = "charges"
"""What the bank says it has charged, since the demo's bank is a file: `demo/charges.jsonl` beside the stores."""
SUPPLIER = {
    87: {"item": 87, "quantity": 12},
    88: {"item": 88, "stock": 3},
}


class CardDeclined(Exception):
    """The bank said no: trying again changes nothing."""


class WarehouseUnavailable(Exception):
    """The database of the reports can't be reached for now."""


def send_invoice(order_id: int, recipient: str) -> str:
    """Mails an invoice. The mail server recognises a repeated invoice number for a week."""
    order = ORDERS[order_id]
    if "@" not in recipient:
        raise ValueError(f"Invoice for order {order_id}: {recipient!r} is no e-mail address")
    return f"invoice {order_id} over {order['total']} sent"


def charge_card(order_id: int) -> str:
    """Charges a card. The bank does not recognise a repeat."""
    order = ORDERS[order_id]
    if order["card"] == "declined":
        raise CardDeclined(f"Order {order_id}: declined by the bank, insufficient funds")
    if order_id == 4712:
        die_once(f"charge-{order_id}")
    _ask_bank(order)
    write_down(STATEMENT, {"order": order_id, "total": order["total"]})
    if order_id == 4711:
        die_once(f"charge-{order_id}")
    return f"charge of {order['total']} accepted"


def ship_order(order_id: int) -> str:
    """Waits for the charge."""
    return f"order {order_id} handed to the carrier"


def sync_stock(item_id: int) -> int:
    """Copies the supplier's stock; running it again copies the same."""
    return int(SUPPLIER[item_id]["quantity"])


def build_report(report_id: int) -> str:
    """Builds a report into a file of its own; running it again builds the same."""
    if report_id == 31 and _is_first_call("report-31"):
        _read_warehouse(report_id)
    write_down(f"report-{report_id}", {"report": report_id})
    return f"report {report_id} ready"


def make_thumbnail(item_id: int) -> None:
    """Makes a small picture. What went wrong with it is not worth keeping, so RQ forgets it after a minute."""
    raise ValueError(f"Item {item_id}: the picture is empty")


def remind_customer(customer_id: int) -> Retry:
    """Asks RQ to try it later, as long as the mail server is busy; for this customer it always is."""
    return Retry(max=2, interval=1)


def export_bookings(year: int) -> None:
    """Takes longer than it is given."""
    time.sleep(600)


def rebuild_search_index(shop_id: int) -> None:
    """Takes so long that somebody stops it."""
    time.sleep(600)


def archive_order(order_id: int) -> str:
    """Belongs to a worker that was switched off long ago."""
    return f"order {order_id} archived"


def statement_path(name: str = STATEMENT) -> Path:
    """The file to look into when nobody knows whether a card was charged, or something was paid back."""
    return _folder() / f"{name}.jsonl"


def die_once(name: str) -> None:
    """What the kernel does to a process when memory runs out: whether it did its work, nobody says."""
    if _is_first_call(name):
        os.kill(os.getpid(), signal.SIGKILL)


def write_down(name: str, entry: dict[str, Any]) -> None:
    """One more line in a file of the other side's."""
    with statement_path(name).open("a") as file:
        file.write(json.dumps(entry) + "\n")


def read_down(name: str) -> list[dict[str, Any]]:
    """What the other side has on record."""
    path = statement_path(name)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _ask_bank(order: dict[str, str]) -> None:
    if order["card"] == "slow":
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError as error:
            raise TimeoutError("The bank gave no answer within 10 seconds; the charge may have been made") from error


def _read_warehouse(report_id: int) -> None:
    try:
        raise ConnectionRefusedError(111, "Connection refused")
    except ConnectionRefusedError as error:
        raise WarehouseUnavailable(f"Report {report_id}: the warehouse is down for maintenance") from error


def _is_first_call(name: str) -> bool:
    try:
        (_folder() / f"{name}.tried").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _folder() -> Path:
    folder = Path(settings.VAR_DIR) / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
