"""Who may see and do what. Object permissions on Queue, given per queue to users or groups, and nothing else, decide.

A model-wide grant of an object permission does not count; a right to act without the right to see the queue is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from guardian.core import ObjectPermissionChecker
from guardian.shortcuts import get_objects_for_user

from jobs.models import Operation, Queue, Review

Person: TypeAlias = AbstractUser | AnonymousUser


class Permission(StrEnum):
    """A codename of the app `opsboard_jobs`."""

    VIEW_QUEUE = "view_queue"
    RETRY_JOB = "retry_job"
    DELETE_JOB = "delete_job"
    CANCEL_JOB = "cancel_job"
    RESOLVE_REVIEW = "resolve_review"
    TRIAGE_FAILURE = "triage_failure"
    CHANGE_JOBTYPE = "change_jobtype"
    VIEW_AUDIT = "view_audit"
    MANAGE_ACCESS = "manage_access"

    @property
    def label(self) -> str:
        """What the right allows, as a verb with its object."""
        return str(_LABELS[self])


_LABELS = {
    Permission.VIEW_QUEUE: gettext_lazy("see the queue"),
    Permission.RETRY_JOB: gettext_lazy("retry jobs"),
    Permission.DELETE_JOB: gettext_lazy("delete jobs"),
    Permission.CANCEL_JOB: gettext_lazy("cancel and stop jobs"),
    Permission.RESOLVE_REVIEW: gettext_lazy("resolve reviews"),
    Permission.TRIAGE_FAILURE: gettext_lazy("acknowledge failures"),
    Permission.CHANGE_JOBTYPE: gettext_lazy("declare job types"),
    Permission.VIEW_AUDIT: gettext_lazy("read the audit"),
    Permission.MANAGE_ACCESS: gettext_lazy("manage access"),
}

MODEL_WIDE = (Permission.CHANGE_JOBTYPE, Permission.VIEW_AUDIT, Permission.MANAGE_ACCESS)
"""Held for all of opsboard. Who may declare job types reads the path of every declared function, whatever its queue;
paths that nobody has declared only from queues that one may see."""
PER_QUEUE = tuple(permission for permission in Permission if permission not in MODEL_WIDE)


RIGHT_FOR = {
    "retry_job": Permission.RETRY_JOB,
    "enqueue_job": Permission.RETRY_JOB,
    "cancel_job": Permission.CANCEL_JOB,
    "stop_job": Permission.CANCEL_JOB,
    "delete_job": Permission.DELETE_JOB,
    "remove_entry": Permission.DELETE_JOB,
}
"""The right that each act on a job needs, by the act's verb."""


class ReviewNotVisible(Http404):
    """The review does not exist for this person; whether it exists at all is not said."""


class OperationNotVisible(Http404):
    """The operation does not exist for this person; whether it exists at all is not said."""


class QueueNotVisible(Http404):
    """The queue does not exist for this person; whether it exists at all is not said."""


@dataclass(frozen=True)
class Visibility:
    """What one person may see. `queues` are those with a record, in order of connection and name."""

    everything: bool
    queues: tuple[Queue, ...]

    def sees(self, connection: str, queue: str) -> bool:
        return self.everything or (connection, queue) in self._names

    @cached_property
    def _names(self) -> frozenset[tuple[str, str]]:
        return frozenset((queue.connection, queue.name) for queue in self.queues)


def visibility(user: Person) -> Visibility:
    """The queues this person may see; a superuser sees also those that have no record."""
    if not user.is_active:
        return Visibility(everything=False, queues=())
    if user.is_superuser:
        return Visibility(everything=True, queues=tuple(Queue.objects.all()))
    granted = get_objects_for_user(
        user, f"opsboard_jobs.{Permission.VIEW_QUEUE}", klass=Queue, with_superuser=False, accept_global_perms=False
    )
    return Visibility(everything=False, queues=tuple(granted.order_by("connection", "name")))


def find_queue(user: Person, connection: str, name: str) -> Queue:
    """The queue, if this person may see it. Raises QueueNotVisible, the same for unknown and for hidden ones.

    A superuser gets an unsaved Queue for one that has no record.
    """
    queue = _recorded(connection, name) or Queue(connection=connection, name=name)
    if Permission.VIEW_QUEUE not in permissions_on(user, queue):
        raise QueueNotVisible
    return queue


def find_review(user: Person, review_id: int) -> tuple[Review, Queue]:
    """The review with its operation, and its queue, if this person may see it. Raises ReviewNotVisible."""
    review = Review.objects.select_related("operation").filter(pk=review_id).first()
    if review is None:
        raise ReviewNotVisible
    try:
        return review, find_queue(user, review.operation.connection, review.operation.queue)
    except QueueNotVisible:
        raise ReviewNotVisible from None


def find_operation(user: Person, operation_id: str) -> tuple[Operation, Queue]:
    """The operation of the job-safety layer and its queue, if this person may see it. Raises OperationNotVisible."""
    layered = Operation.objects.exclude(origin=Operation.Origin.PLAIN)
    operation = layered.filter(operation_id=operation_id).first()
    if operation is None:
        raise OperationNotVisible
    try:
        return operation, find_queue(user, operation.connection, operation.queue)
    except QueueNotVisible:
        raise OperationNotVisible from None


def require(user: Person, permission: Permission, queue: Queue) -> None:
    """Nothing when the person holds the right on this queue.

    Raises QueueNotVisible when he may not see it, PermissionDenied with a sentence that names the right otherwise.
    """
    held = permissions_on(user, queue)
    if Permission.VIEW_QUEUE not in held:
        raise QueueNotVisible
    if permission not in held:
        raise PermissionDenied(
            _("Nothing was done. You may not %(act)s in this queue; the right %(right)s is missing.")
            % {"act": permission.label, "right": permission.value}
        )


def permissions_on(user: Person, queue: Queue) -> frozenset[Permission]:
    """The rights this person can use on the queue: none without the right to see it. Two queries."""
    return permissions_by_queue(user, [queue])[queue.connection, queue.name]


def permissions_by_queue(user: Person, queues: Iterable[Queue]) -> dict[tuple[str, str], frozenset[Permission]]:
    """The same for many queues at once, by (connection, name), in as many queries as for one."""
    asked = list(queues)
    if user.is_active and user.is_superuser:
        return {(queue.connection, queue.name): frozenset(PER_QUEUE) for queue in asked}
    held = _granted(user, [queue for queue in asked if queue.pk]) if user.is_active else {}
    return {(queue.connection, queue.name): _usable(held.get(queue.pk, ())) for queue in asked}


def may(user: Person, permission: Permission) -> bool:
    """Whether the person holds a model-wide right; False for one that is given per queue."""
    return permission in MODEL_WIDE and user.has_perm(f"opsboard_jobs.{permission}")


def require_wide(user: Person, permission: Permission) -> None:
    """Nothing when the person holds this model-wide right. Raises Http404: to others its pages do not exist."""
    if not may(user, permission):
        raise Http404


def _recorded(connection: str, name: str) -> Queue | None:
    # PostgreSQL refuses to compare with a NUL; no record can hold one.
    if "\0" in connection + name:
        return None
    return Queue.objects.filter(connection=connection, name=name).first()


def _granted(user: Person, queues: list[Queue]) -> dict[int, list[str]]:
    if not queues:
        return {}
    checker = ObjectPermissionChecker(user)  # type: ignore[arg-type]  # annotated too narrowly
    checker.prefetch_perms(queues)  # type: ignore[arg-type]  # annotated too narrowly
    return {queue.pk: checker.get_perms(queue) for queue in queues}


def _usable(codenames: Iterable[str]) -> frozenset[Permission]:
    held = frozenset(permission for permission in PER_QUEUE if permission.value in set(codenames))
    return held if Permission.VIEW_QUEUE in held else frozenset()
