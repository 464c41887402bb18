"""What the rows of a list say of jobs that deliver operations: which operation, and what a retry would come to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.utils import timezone

from jobs.domain.decisions import Action, Decision
from jobs.domain.layered import decide_run
from jobs.domain.operations import AskedBy
from jobs.domain.progress import Progress
from jobs.judging import layered_as
from jobs.ledger import database
from jobs.ledger.events import operations_of_deliveries
from jobs.ledger.snapshots import snapshots_of
from jobs.models import Operation

Place = tuple[str, str]
"""Queue and job id."""


@dataclass(frozen=True)
class RowOperation:
    """The operation of one row, and the table's answer to a retry of it."""

    operation: Operation
    decision: Decision

    @property
    def operation_id(self) -> str:
        return self.operation.operation_id

    @property
    def badge(self) -> str:
        """A key of the words table."""
        if self.decision.code == "review_open":
            return "in_review"
        return _BADGES.get(self.decision.action, "would_wait")


def operations_of_rows(connection: str, jobs: Mapping[Place, str | None]) -> dict[Place, RowOperation]:
    """The operations that these jobs deliver, by place; `jobs`: by place the path of its function, None if not known.

    Two queries for plain jobs, three more as soon as one delivers an operation, however many they are.
    """
    found = operations_of_deliveries(connection, _places(jobs))
    own = {place: one for place, one in found.items() if jobs[place] in (None, "", one.job_type)}
    now, zone = database.now() if own else timezone.now(), timezone.get_current_timezone()
    snapshots = snapshots_of({one.pk: one for one in own.values()}.values(), now)
    return {
        place: RowOperation(
            one,
            decide_run(
                layered_as(one, snapshots[one.pk], now, job_id=place[1], asked_by=AskedBy.BULK),
                zone,
            ),
        )
        for place, one in own.items()
    }


def progress_of(operation: Operation) -> Progress | None:
    """How far the newest attempt at it said it was; None where that has said nothing."""
    if operation.progress_done is None:
        return None
    return Progress(operation.progress_done, operation.progress_total)


def _places(jobs: Mapping[Place, str | None]) -> Collection[Place]:
    """Those that a record can name: PostgreSQL refuses to compare with a NUL."""
    return [place for place in jobs if "\0" not in place[0] + place[1]]


_BADGES = {
    Action.RETRY: "would_run",
    Action.SKIP_DUPLICATE: "would_skip",
    Action.REVIEW: "would_ask",
}
