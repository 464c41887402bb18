"""Finding a job by its id, on every connection and only where one may see it."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.broker.details import find_origins
from jobs.broker.errors import BrokerUnavailable
from jobs.models import NAME_LENGTH
from jobs.permissions import Visibility
from jobs.selectors.each import read_each
from jobs.selectors.lists import recorded_queue_names, visible_connections


@dataclass(frozen=True)
class Found:
    """A job that can be opened."""

    connection: str
    queue: str
    job_id: str


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """The answer: where the id was found, and which stores could not be asked; `is_blind` when none could."""

    query: str
    found: tuple[Found, ...]
    unreachable: tuple[str, ...]
    is_blind: bool = False


def look_up(visibility: Visibility, query: str) -> Lookup:
    """Jobs with exactly this id. Arguments, messages and functions are not searched."""
    job_id = query.strip()
    if not job_id or len(job_id) > NAME_LENGTH:
        return Lookup(query=job_id[:NAME_LENGTH], found=(), unreachable=())
    names = visible_connections(visibility)
    answers = read_each(names, lambda name: find_origins(name, job_id, recorded_queue_names(visibility, name)))
    found = [
        Found(name, queue, job_id)
        for name, queues in answers.items()
        if not isinstance(queues, BrokerUnavailable)
        for queue in queues
        if visibility.sees(name, queue)
    ]
    silent = tuple(name for name, answer in answers.items() if isinstance(answer, BrokerUnavailable))
    return Lookup(query=job_id, found=tuple(found), unreachable=silent, is_blind=0 < len(silent) == len(names))
