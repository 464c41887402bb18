"""Finding a job by its id or its operation's, in every job store and on record, and only where one may see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.broker.details import find_origins
from jobs.broker.errors import BrokerUnavailable
from jobs.models import NAME_LENGTH
from jobs.permissions import Visibility
from jobs.selectors.each import read_each
from jobs.selectors.lists import recorded_queue_names, visible_connections
from jobs.selectors.records import OPERATION_LENGTH, operations_about, parse_plain, records_of


@dataclass(frozen=True)
class Found:
    """What can be opened: a job in Redis; with `operation_id` what is on record of one, or of an operation."""

    connection: str
    queue: str
    job_id: str
    operation_id: str = ""

    @property
    def name(self) -> str:
        """What it goes by: an operation by its own id, a job and what is on record of one by the job's."""
        return self.operation_id if self.operation_id and not parse_plain(self.operation_id) else self.job_id


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """The answer: where the id was found, and which stores could not be asked; `is_blind` when none could."""

    query: str
    found: tuple[Found, ...]
    unreachable: tuple[str, ...]
    is_blind: bool = False


def look_up(visibility: Visibility, query: str) -> Lookup:
    """Jobs with exactly this id, operations, and those about a record of this id.

    Arguments, messages and functions are not searched.
    """
    text = query.strip()
    if not text or len(text) > OPERATION_LENGTH:
        return Lookup(query=text[:OPERATION_LENGTH], found=(), unreachable=())
    names = visible_connections(visibility)
    answers = read_each(names, lambda name: _in_redis(visibility, name, text))
    silent = tuple(name for name, answer in answers.items() if isinstance(answer, BrokerUnavailable))
    jobs = [one for found in answers.values() if not isinstance(found, BrokerUnavailable) for one in found]
    found = [*jobs, *_on_record(visibility, text, {(one.connection, one.queue, one.job_id) for one in jobs})]
    return Lookup(query=text, found=tuple(found), unreachable=silent, is_blind=0 < len(silent) == len(names))


def _in_redis(visibility: Visibility, connection: str, text: str) -> list[Found]:
    """The jobs of one store that go by this id, and the plain job whose operation id this is."""
    plain, queues = parse_plain(text), recorded_queue_names(visibility, connection)
    wanted = {text: ""} if len(text) <= NAME_LENGTH else {}
    if plain and plain[0] == connection:
        wanted[plain[1]] = text
    return [
        Found(connection, queue, job_id, operation_id)
        for job_id, operation_id in wanted.items()
        for queue in find_origins(connection, job_id, queues)
        if visibility.sees(connection, queue)
    ]


def _on_record(visibility: Visibility, text: str, known: set[tuple[str, str, str]]) -> Iterator[Found]:
    """What is on record under this id, but of jobs that were found themselves."""
    plain = parse_plain(text)
    records = records_of(visibility, text)
    if plain and plain[0] in visible_connections(visibility):
        records += records_of(visibility, plain[1], connections=[plain[0]])
    records += operations_about(visibility, text)
    for one in dict.fromkeys(records):
        if one.place not in known:
            yield Found(one.connection, one.queue, one.job_id, one.operation_id)
