"""The demo's accounts, the queues they may see, and what the shop has declared about its job types."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction

from exports.permissions import EXPORTERS
from exports.tasks import mail_export
from jobs.domain.idempotency import Idempotency
from jobs.first_access import LEADS, OPERATORS, VIEWERS, grant_groups
from jobs.models import JobType, Queue
from opsboard.demo import UNATTENDED, WORKED
from opsboard.demo.jobs import TASKS
from opsboard.demo.operations import REFUNDS, refund_order
from opsboard.demo.tasks import statement_path

CONNECTION = "default"
CLERK = "clerk"
WEEK_SECONDS = 7 * 86400
CHARGE_RUNBOOK = """Was the card charged? The bank's statement has a line for each charge that it made:

  {statement}

If the order's number stands there, it happened: a second charge would cost the customer the amount twice. The line is \
the evidence.
If it does not, and the old run is dead, it did not happen, and the job may run again."""
"""How to find out; the file is the demo's bank."""
REFUND_RUNBOOK = """Was it paid back? The bank's statement has a line for each refund that it made:

  {statement}

If the order's number stands there, it happened. If not, and the old run is dead, it did not, and is made again."""
MAIL_RUNBOOK = """Was it sent? Each mail has a Message-ID of its own, the same in every attempt: \
<export-NUMBER.KEY@HOST>, of the export’s number and the key on this page.

Without a mail server, as in this demo, look for a file whose name has export-NUMBER.KEY in

  {folder}

One that ends in .eml is a mail that was sent; one that ends in .part was not finished, and does not count.

With a mail server (OPSBOARD_MAIL_URL), search its log for the Message-ID, from the beginning of the effect on for an \
hour. Accepted or queued: it happened. Refused, or no line with it though the log covers that time: it did not. A log \
that is not there says nothing: put the review off, or give it up and tell the person whose export it is.

It happened: nothing is sent again. It did not happen: exactly one mail is sent. The file is ready either way."""
"""Of use to those as well who take the exports for their own."""
DECLARED = {
    "build_report": (Idempotency.REPEATABLE, None),
    "sync_stock": (Idempotency.REPEATABLE, None),
    "send_invoice": (Idempotency.KEYED, WEEK_SECONDS),
    "charge_card": (Idempotency.UNSAFE, None),
}
"""What is known of these; of the rest nobody has said anything."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """One demo account: its name, its group, and what that means in a few words; to `email` the shop writes."""

    name: str
    group: str
    may: str
    email: str = ""


ACCOUNTS = (
    Account(name="viewer", group=VIEWERS, may="looks, and changes nothing"),
    Account(name="operator", group=OPERATORS, may="also retries, cancels, deletes, and answers reviews"),
    Account(name="lead", group=LEADS, may="also declares job types and gives access"),
    Account(
        name=CLERK, group=EXPORTERS, may="asks for exports of orders, and gets the files", email="clerk@shop.example"
    ),
)


@transaction.atomic
def load_people(passwords: Mapping[str, str]) -> None:
    """Make what is missing; of what is there only the passwords are set again, since they are what gets printed."""
    for name in (*WORKED, UNATTENDED):
        queue, is_new = Queue.objects.get_or_create(connection=CONNECTION, name=name)
        if is_new:
            grant_groups(queue)
    for account in ACCOUNTS:
        _provide(account, passwords[account.name])
    lead = User.objects.get(username="lead")
    for name, (idempotency, seconds) in DECLARED.items():
        defaults = {"idempotency": idempotency.value, "remembered_for_seconds": seconds, "declared_by": lead}
        if name == "charge_card":
            defaults["runbook_text"] = CHARGE_RUNBOOK.format(statement=statement_path())
        JobType.objects.get_or_create(path=f"{TASKS}.{name}", defaults=defaults)
    runbook = REFUND_RUNBOOK.format(statement=statement_path(REFUNDS))
    refund = {"idempotency": Idempotency.UNSAFE.value, "runbook_text": runbook, "declared_by": lead}
    JobType.objects.get_or_create(path=refund_order.kind.path, defaults=refund)
    runbook = MAIL_RUNBOOK.format(folder=settings.EMAIL_FILE_PATH)
    mail = {"idempotency": Idempotency.UNSAFE.value, "runbook_text": runbook, "declared_by": lead}
    path = mail_export.kind.path  # type: ignore[attr-defined]  # of @operation
    JobType.objects.get_or_create(path=path, defaults=mail)


def read_passwords(folder: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Each account's password: OPSBOARD_DEMO_PASSWORD for all, or those kept in `folder`, made at the first start."""
    given = environ.get("OPSBOARD_DEMO_PASSWORD", "").strip()
    if given:
        return {account.name: given for account in ACCOUNTS}
    path = folder / "demo-passwords"
    kept = json.loads(path.read_text()) if path.exists() else {}
    passwords = {account.name: kept.get(account.name) or secrets.token_urlsafe(9) for account in ACCOUNTS}
    if passwords != kept:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(passwords, file)
    return passwords


def _provide(account: Account, password: str) -> None:
    user, is_new = User.objects.get_or_create(username=account.name, defaults={"email": account.email})
    if is_new:
        user.groups.set(Group.objects.filter(name=account.group))
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
