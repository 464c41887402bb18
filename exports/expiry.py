"""The end of files: those whose time is over are removed, and so is what nobody knows of any more.

Everything is done by name within the one folder, and only to names that are ours: a link is removed itself, what it
points to never, and no file of an export that is being built, or is ready and has time left, is touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings

from exports.files import folder, path_of
from exports.models import Export
from exports.states import GOING_ON
from jobs.models import Operation

LEFT_OVER_AFTER = timedelta(days=1)
"""No attempt writes for so long, and none is so old without its record."""
_FILE = re.compile(r"export-(?P<id>[1-9][0-9]{0,17})\.csv", re.ASCII)
_PART = re.compile(r"\.export-[1-9][0-9]{0,17}\.csv\.[0-9a-f]{32}\.part", re.ASCII)
_AT_ONCE = 500

log = structlog.get_logger("opsboard.exports")


@dataclass
class Removal:
    """How many files are gone now, and how many could not be removed: those are tried again the next time."""

    removed: int = 0
    failed: int = 0

    @property
    def looked_at(self) -> int:
        return self.removed + self.failed


def remove_expired(now: datetime, limit: int) -> Removal:
    """Remove the files of exports whose time is over, the longest over first, `limit` at most.

    A file that is gone already counts as removed. Two may do this at once. Raises OSError if there is no such folder.
    """
    over = Export.objects.filter(expires_at__lte=now, removed_at=None).exclude(operation__status__in=GOING_ON)
    done = Removal()
    with _opened_folder() as descriptor:
        for pk in over.order_by("expires_at", "pk").values_list("pk", flat=True)[:limit]:
            if _remove(path_of(pk).name, descriptor, done, why="its time is over"):
                # Removed first: what is noted as removed is looked for by nobody.
                Export.objects.filter(pk=pk, removed_at=None).update(removed_at=now)
    return done


def remove_left_overs(now: datetime, limit: int) -> Removal:
    """Remove what no export needs, `limit` files at most, after a day: files without a record, and half-written ones.

    What a failed export has left is kept for as long as one that is ready: somebody may still take it up.
    """
    done = Removal()
    with _opened_folder() as descriptor:
        for name, why in _left_overs(descriptor, now):
            if done.looked_at >= limit:
                break
            _remove(name, descriptor, done, why=why)
    return done


# ----------------------------------------------------------------------------------------------------------------------


def _left_overs(descriptor: int, now: datetime) -> Iterator[tuple[str, str]]:
    """Names, and why these files are not needed."""
    old = [name for name in sorted(os.listdir(descriptor)) if _is_older(name, descriptor, now - LEFT_OVER_AFTER)]
    for name in filter(_PART.fullmatch, old):
        yield name, "nobody writes to it any more"
    ids = {int(match["id"]): name for name in old if (match := _FILE.fullmatch(name))}
    kept_since = now - timedelta(days=settings.OPSBOARD_EXPORTS_DAYS)
    for some in _in_parts(list(ids)):
        # Asked after the folder was read: a record is there before its file.
        kept, failed = _of_use(some)
        for pk in some:
            if pk not in kept and (pk not in failed or _is_older(ids[pk], descriptor, kept_since)):
                yield ids[pk], "its export has failed" if pk in failed else "no export needs it"


def _of_use(ids: Collection[int]) -> tuple[set[int], set[int]]:
    """Which of these exports are being built or ready, or are to be removed as expired; and which have failed."""
    found = Export.objects.filter(pk__in=ids, removed_at=None).values_list("pk", "operation__status", "ready_at")
    of_use = (*GOING_ON, Operation.Status.COMPLETED)
    kept = {pk for pk, status, ready_at in found if ready_at is not None or status in of_use}
    return kept, {pk for pk, _status, _ready_at in found} - kept


def _in_parts(ids: list[int]) -> Iterator[list[int]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))


def _is_older(name: str, descriptor: int, than: datetime) -> bool:
    try:
        written = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return False
    return datetime.fromtimestamp(written, UTC) < than


def _remove(name: str, descriptor: int, done: Removal, *, why: str) -> bool:
    """Whether it is gone now."""
    try:
        os.unlink(name, dir_fd=descriptor)
    except FileNotFoundError:
        log.info("file of an export was gone", file=name, why=why)
    except OSError as error:
        log.warning("file of an export could not be removed", file=name, why=why, error=error.strerror)
        done.failed += 1
        return False
    else:
        log.info("file of an export removed", file=name, why=why)
    done.removed += 1
    return True


@contextmanager
def _opened_folder() -> Iterator[int]:
    descriptor = os.open(folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
