"""The groups that people are put into, and what they hold when opsboard sees its queues for the first time.

Nothing here gives back what a person took away: groups get their rights when they are made, queues when they are put on
record.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as PermissionRow
from django.db import DEFAULT_DB_ALIAS, transaction
from guardian.shortcuts import assign_perm

from jobs.models import Queue
from jobs.permissions import MODEL_WIDE, PER_QUEUE, Permission

VIEWERS, OPERATORS, LEADS = "Viewers", "Operators", "Leads"
ADMIN = "admin"

PER_GROUP: Mapping[str, tuple[Permission, ...]] = {
    VIEWERS: (Permission.VIEW_QUEUE,),
    OPERATORS: PER_QUEUE,
    LEADS: PER_QUEUE,
}
"""What each group holds on a queue; Leads differ by their model-wide rights."""


@dataclass(frozen=True, kw_only=True)
class FirstAccess:
    """What was done: the new superuser's password (shown once, kept nowhere), and the queues that were given."""

    admin_password: str | None
    queues: tuple[str, ...]
    has_superuser: bool


def ensure_groups(using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the groups that are missing. Leads get their model-wide rights at that moment only."""
    # The permissions come from another receiver of post_migrate, which may run after this one.
    create_permissions(apps.get_app_config("opsboard_jobs"), verbosity=0, using=using)
    for name in PER_GROUP:
        group, created = Group.objects.using(using).get_or_create(name=name)
        if created and name == LEADS:
            group.permissions.add(
                *PermissionRow.objects.using(using).filter(
                    content_type__app_label="opsboard_jobs", codename__in=MODEL_WIDE
                )
            )


@transaction.atomic
def grant_first_access(names: Mapping[str, Iterable[str]]) -> FirstAccess:
    """On a first run, record the queues (connection -> names), give them to the groups, and make `admin`.

    A first run is one that finds no queue on record; later ones give nothing. A superuser is made only when there is
    none and the name is free.
    """
    first = not Queue.objects.exists()
    given = tuple(_give_to_groups(names)) if first else ()
    password = _make_admin()
    has_superuser = get_user_model()._default_manager.filter(is_superuser=True).exists()
    return FirstAccess(admin_password=password, queues=given, has_superuser=has_superuser)


def grant_groups(queue: Queue) -> None:
    """Give the three groups their rights on a recorded queue."""
    for name, permissions in PER_GROUP.items():
        group = Group.objects.get(name=name)
        for permission in permissions:
            assign_perm(permission.value, group, queue)


def new_password() -> str:
    """20 random characters that survive copying from a terminal."""
    return secrets.token_urlsafe(15)


def _give_to_groups(names: Mapping[str, Iterable[str]]) -> Iterable[str]:
    for connection, queues in names.items():
        for name in sorted(set(queues)):
            queue = Queue.objects.create(connection=connection, name=name)
            grant_groups(queue)
            yield str(queue)


def _make_admin() -> str | None:
    users = get_user_model()._default_manager
    taken = users.filter(**{get_user_model().USERNAME_FIELD: ADMIN})
    if users.filter(is_superuser=True).exists() or taken.exists():
        return None
    password = new_password()
    users.create_superuser(ADMIN, email="", password=password)
    return password
