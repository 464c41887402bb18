"""The three jobs that are compared: each makes one query in the database of operations."""

from __future__ import annotations

from django.contrib.auth.models import Group

from jobs.safety import Keyed, hours, once, operation


def plain(number: int) -> bool:
    """What a job without the layer costs."""
    return Group.objects.filter(pk=number).exists()


@operation("bench-none:{number}")
def no_effect(number: int) -> bool:
    """The same as an operation."""
    return Group.objects.filter(pk=number).exists()


@operation("bench-one:{number}")
def one_effect(number: int) -> bool:
    """The same with one effect, whose call costs nothing."""
    found = Group.objects.filter(pk=number).exists()
    once("call", lambda: None, safety=Keyed(hours(24)))
    return found
