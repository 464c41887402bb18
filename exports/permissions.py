"""Who may ask for exports: whoever holds one right. To all others none exists, not even their own of earlier days.

Each export belongs to who asked for it, and nobody else sees it: no operator, and no superuser either. Those look after
the job, by its id, and have no use for the rows.
"""

from __future__ import annotations

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as PermissionRow
from django.db import DEFAULT_DB_ALIAS

from jobs.permissions import Person

EXPORTERS = "Exporters"
REQUEST_EXPORT = "request_export"


def may_export(person: Person) -> bool:
    """Whether the person may ask for exports, and get those that were made for him."""
    return person.is_active and person.has_perm(f"exports.{REQUEST_EXPORT}")


def ensure_group(using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the group if it is missing, with its right; later on nothing is given back that somebody took away."""
    # The permissions come from another receiver of post_migrate, which may run after this one.
    create_permissions(apps.get_app_config("exports"), verbosity=0, using=using)
    group, created = Group.objects.using(using).get_or_create(name=EXPORTERS)
    if created:
        rights = PermissionRow.objects.using(using)
        group.permissions.add(rights.get(content_type__app_label="exports", codename=REQUEST_EXPORT))
