"""Giving and taking rights on one queue. Whoever does it sees the queue, and gives nothing he does not hold there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, TypeAlias

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.contrib.auth.models import Permission as PermissionRow
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import Http404
from django.utils.translation import gettext as _
from guardian.models import GroupObjectPermission, UserObjectPermission

from jobs import ledger
from jobs.broker import connections
from jobs.models import Queue
from jobs.permissions import PER_QUEUE, Permission, QueueNotVisible, find_queue, permissions_on, require_wide

Holder: TypeAlias = User | Group
Changed: TypeAlias = tuple[Permission, ...]

GIVE, TAKE = "grant_access", "revoke_access"


def find_holder(value: str) -> Holder | None:
    """The account or the group that `user:7` or `group:3` names; None when there is none."""
    kind, _colon, number = value.partition(":")
    if not number.isdecimal():
        return None
    if kind == "group":
        return Group.objects.filter(pk=int(number)).first()
    return get_user_model().objects.filter(pk=int(number)).first() if kind == "user" else None


def give(
    actor: User, connection: str, name: str, holder: Holder, permissions: Collection[Permission], now: datetime
) -> Changed:
    """Give these rights, and with them the right to see the queue. Returns those that were not held before.

    Raises Http404 for who may not manage access, QueueNotVisible, and PermissionDenied for a right he does not hold.
    """
    queue = _find(actor, connection, name)
    wanted = frozenset(permissions) | {Permission.VIEW_QUEUE}
    lacking = [permission for permission in PER_QUEUE if permission in wanted - permissions_on(actor, queue)]
    if lacking:
        _refuse(actor, queue, holder, lacking, now)
    with transaction.atomic():
        recorded, _created = Queue.objects.get_or_create(connection=connection, name=name)
        return _change(actor, GIVE, recorded, holder, wanted, _add, now)


def take(
    actor: User, connection: str, name: str, holder: Holder, permissions: Collection[Permission], now: datetime
) -> Changed:
    """Take these rights; with the right to see the queue go all others, which would wake up when it is given again.

    Returns those that were held. Raises Http404 for who may not manage access, and QueueNotVisible.
    """
    queue = _find(actor, connection, name)
    unwanted = PER_QUEUE if Permission.VIEW_QUEUE in permissions else permissions
    if not queue.pk:
        return ()
    with transaction.atomic():
        return _change(actor, TAKE, queue, holder, unwanted, _remove, now)


def require_manager(actor: User, verb: str, connection: str, name: str, now: datetime) -> None:
    """Nothing for who may manage access. Raises Http404 for others, and has it on record that they tried."""
    try:
        require_wide(actor, Permission.MANAGE_ACCESS)
    except Http404:
        about: dict[str, Any] = {"subject": "access", "connection": connection, "queue": name}
        ledger.record_refusal(actor=actor, verb=verb, outcome=_("No right to do this."), now=now, **about)
        raise


def _find(actor: User, connection: str, name: str) -> Queue:
    require_wide(actor, Permission.MANAGE_ACCESS)
    queue = find_queue(actor, connection, name)
    if not queue.pk and connection not in connections.names():
        raise QueueNotVisible
    return queue


def _refuse(actor: User, queue: Queue, holder: Holder, lacking: list[Permission], now: datetime) -> None:
    sentence = _("Nothing was done. You can't give a right that you do not hold in this queue: %(rights)s.") % {
        "rights": ", ".join(permission.value for permission in lacking)
    }
    for permission in lacking:
        ledger.record_refusal(
            actor=actor, verb=GIVE, outcome=sentence, now=now, **_names(queue, holder, permission)
        )  # fmt: skip
    raise PermissionDenied(sentence)


def _change(
    actor: User,
    verb: str,
    queue: Queue,
    holder: Holder,
    permissions: Collection[Permission],
    change: Callable[..., bool],
    now: datetime,
) -> Changed:
    """Make each change and its record in the transaction of the caller; what was so already leaves no record."""
    rows = PermissionRow.objects.filter(content_type=ContentType.objects.get_for_model(Queue), codename__in=permissions)
    by_codename = {row.codename: row for row in rows}
    ordered = [permission for permission in PER_QUEUE if permission in permissions]
    changed = tuple(permission for permission in ordered if change(holder, by_codename[permission.value], queue))
    for permission in changed:
        ledger.record_change(actor=actor, verb=verb, reason="", now=now, **_names(queue, holder, permission))
    return changed


def _add(holder: Holder, permission: PermissionRow, queue: Queue) -> bool:
    return bool(_model(holder)._default_manager.get_or_create(**_grant(holder, permission, queue))[1])


def _remove(holder: Holder, permission: PermissionRow, queue: Queue) -> bool:
    return _model(holder)._default_manager.filter(**_grant(holder, permission, queue)).delete()[0] > 0


def _model(holder: Holder) -> type[Model]:
    return GroupObjectPermission if isinstance(holder, Group) else UserObjectPermission


def _grant(holder: Holder, permission: PermissionRow, queue: Queue) -> dict[str, Any]:
    kind = "group" if isinstance(holder, Group) else "user"
    return {
        kind: holder,
        "permission": permission,
        "content_type_id": permission.content_type_id,
        "object_pk": str(queue.pk),
    }


def _names(queue: Queue, holder: Holder, permission: Permission) -> dict[str, Any]:
    who = f"group {holder.name}" if isinstance(holder, Group) else f"user {holder.get_username()}"
    return {"connection": queue.connection, "queue": queue.name, "subject": f"{who}: {permission.value}"}
