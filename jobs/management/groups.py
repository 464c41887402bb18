"""Groups as commands name them."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.core.management.base import CommandError


def group_named(name: str) -> Group:
    """The group. Raises CommandError, which names those that there are."""
    try:
        return Group.objects.get(name=name)
    except Group.DoesNotExist:
        known = ", ".join(Group.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"There is no group {name}; the groups are: {known}.") from None
