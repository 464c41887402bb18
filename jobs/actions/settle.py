"""Closing entries that were left open: no answer came, or the process that acted died before it wrote one down.

After its deadline, by the store's clock, a script does nothing more. So from then on the mark tells: where there is one
the act was carried out as a whole, where there is none it never will be. A store that forgets keys before their time
(it evicts them, or came back from an older copy of its data) forgets marks too; the overview warns of the former.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from jobs import ledger
from jobs.broker import commands
from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from jobs.models import AuditEntry

MARGIN = timedelta(seconds=30)
"""How far past its deadline an act is regarded as over, since clocks are set back at times."""
MARK_LIFE = timedelta(seconds=commands.MARK_SECONDS)
LIFE_MARGIN = timedelta(hours=1)
"""So near the end of a mark's life its absence says nothing; so long after it nobody waits for a silent store."""
BATCH = 500
"""Entries whose marks are read in one round trip."""

Verdict = tuple[AuditEntry.Status, str]

MARKS = {
    "requeued": "the job was put back on its queue",
    "enqueued": "the job was put on its queue",
    "deleted": "the job was deleted",
    "canceled": "the job was canceled",
    "removed": "the entry was taken out of every list",
    "stop asked for": "its worker was asked to stop the job",
}
"""What the mark of each act says (jobs/broker/lua)."""

NEVER_CARRIED_OUT: Verdict = (
    AuditEntry.Status.NOT_DONE,
    "Settled later: never carried out, its deadline passed without a mark in the job store.",
)
NEVER_KNOWN: Verdict = (
    AuditEntry.Status.UNSETTLED,
    "Whether it was carried out can no longer be known: its mark would not have been kept for so long.",
)


@dataclass
class Settled:
    """What came of settling: how many entries were `closed` by status, and how many `left` open by connection.

    `silent` says of each connection that could not be asked, why not.
    """

    closed: Counter[str] = field(default_factory=Counter)
    left: dict[str, int] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


def settle_open_entries(*, now: datetime, connections: Collection[str] | None = None) -> Settled:
    """Close every entry that is still *intended* though its deadline is over, with what became of the act.

    `connections`: only these. What a store that gives no answer would know stays open, until no mark could be left.
    """
    settled = Settled()
    for name in _with_open_entries(connections):
        try:
            _settle_by_marks(name, now, settled)
        except (BrokerUnavailable, UnknownConnection) as silence:
            settled.silent[name] = str(silence)
            _give_up_the_oldest(name, now, settled)
        if left := _open_entries(name).count():
            settled.left[name] = left
    return settled


def _with_open_entries(connections: Collection[str] | None) -> list[str]:
    found = AuditEntry.objects.filter(status=AuditEntry.Status.INTENDED)
    names = found.order_by("connection").values_list("connection", flat=True).distinct()
    return [name for name in names if connections is None or name in connections]


def _settle_by_marks(connection: str, now: datetime, settled: Settled) -> None:
    store_time = commands.server_time(connection)
    for entries in _batches(connection, over_before=store_time - MARGIN):
        marks = commands.marks(connection, [str(entry.pk) for entry in entries])
        for entry in entries:
            _close(entry, _verdict(entry, marks.get(str(entry.pk)), store_time), now, settled)


def _give_up_the_oldest(connection: str, now: datetime, settled: Settled) -> None:
    """Without the store there is only our own clock, and it is trusted where nothing could be found any more."""
    for entries in _batches(connection, over_before=now - MARK_LIFE - LIFE_MARGIN):
        for entry in entries:
            _close(entry, NEVER_KNOWN, now, settled)


def _verdict(entry: AuditEntry, mark: str | None, store_time: datetime) -> Verdict:
    if mark is not None:
        said = MARKS.get(mark, f"the act left “{mark}”")
        return AuditEntry.Status.DONE, f"Settled later, from its mark in the job store: {said}."
    is_kept = store_time < _over_at(entry) + MARK_LIFE - LIFE_MARGIN
    return NEVER_CARRIED_OUT if is_kept else NEVER_KNOWN


def _close(entry: AuditEntry, verdict: Verdict, now: datetime, settled: Settled) -> None:
    status, outcome = verdict
    if ledger.close_entry(entry, status=status, outcome=outcome, now=now):
        settled.closed[status] += 1


def _batches(connection: str, *, over_before: datetime) -> Iterator[list[AuditEntry]]:
    """Open entries whose deadline was before that, oldest first; each is met once, whatever becomes of it."""
    over = Q(deadline_at__lt=over_before) | Q(deadline_at=None, created_at__lt=over_before)
    entries = _open_entries(connection).filter(over).order_by("created_at", "pk")
    ids = list(entries.values_list("pk", flat=True))
    for start in range(0, len(ids), BATCH):
        yield list(entries.filter(pk__in=ids[start : start + BATCH]))


def _open_entries(connection: str) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(connection=connection, status=AuditEntry.Status.INTENDED)


def _over_at(entry: AuditEntry) -> datetime:
    return entry.deadline_at or entry.created_at
