"""Which queues are watched, and their records: a queue without one can be given to nobody."""

from __future__ import annotations

from jobs.broker.queues import queue_names
from jobs.models import NAME_LENGTH, Queue


def watched_queues(connection: str) -> list[str]:
    """Queues that RQ knows there, and those on record; without names that SQL can't hold. Raises BrokerUnavailable."""
    on_record = Queue.objects.filter(connection=connection).values_list("name", flat=True)
    return sorted(name for name in {*queue_names(connection), *on_record} if _can_be_recorded(name))


def record_new_queues(connection: str) -> list[str]:
    """Put queues on record that RQ has got since, without giving them to anybody. Raises BrokerUnavailable.

    None before the first ones are: those come with their first access (jobs.first_access).
    """
    if not Queue.objects.exists():
        return []
    on_record = frozenset(Queue.objects.filter(connection=connection).values_list("name", flat=True))
    new = [name for name in queue_names(connection) if name not in on_record and _can_be_recorded(name)]
    Queue.objects.bulk_create([Queue(connection=connection, name=name) for name in new], ignore_conflicts=True)
    return new


def _can_be_recorded(name: str) -> bool:
    return "\0" not in name and len(name) <= NAME_LENGTH
