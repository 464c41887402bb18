"""Takes rows of the table through a world: submits them, plays the outside world meanwhile, and sees how they end."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import rq
from django.db import transaction
from rq.decorators import job as rq_job

from jobs.ledger import adoption
from jobs.models import Attempt, JobType, Operation, OperationEvent
from tests.chaos import work
from tests.chaos.table import Row
from tests.chaos.world import World
from tests.oracle import client as oracle

LONG_SECONDS, SHORT_SECONDS = 120, 6
"""A job's time limit: out of reach; and for the first delivery of one that is to stand still until it is over."""
STANDS_STILL = {"freeze", "freeze_with_alarm"}
LATE_SECONDS = 0.4
"""After so long the oracle carries out a request that was cut off in between."""
BY_PROCESS = {"after_accept", "before_push", "after_push"}
CALLS: dict[str, dict[str, Any]] = {
    "drop_request": {},
    "drop_answer": {},
    "error_after": {},
    "error_before": {"status": 500},
    "turned_down": {"fault": "error_before", "status": 422},
    "too_many": {"seconds": 1.0},
}
IN_HAND = 3
"""Operations that are under way at once, for each worker."""
POLL_SECONDS = 0.1
QUIET_POLLS = 5
WAKE_SECONDS = 60.0
"""What stands still is woken when its operation has gone on, and after so long at the latest."""
AT_REST = ("completed", "failed", "cancelled", "unknown")


@dataclass
class Case:
    """A row in the world, under the key that is its operation's, and everything else's."""

    row: Row
    key: str


@dataclass
class Course:
    """Cases under way. `seen`: the states in which each operation was found, in order."""

    world: World
    staff: dict[str, int]
    cases: list[Case] = field(default_factory=list)
    waiting: list[Case] = field(default_factory=list)
    seen: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    stored: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    wakes_at: dict[int, float] = field(default_factory=dict)
    partial_files: set[str] = field(default_factory=set)

    def begin(self, rows: list[Row], first: int = 0) -> None:
        """Submit the first. What is done to a waiting job is done before there are workers."""
        self.cases = [Case(row, f"{number}~{row.name}") for number, row in enumerate(rows, first)]
        at_once = [case for case in self.cases if case.row.point in ("queued", "settled")]
        # What takes long begins first.
        rest = sorted(self.cases, key=lambda case: not STANDS_STILL & set(case.row.events))
        self.waiting = [case for case in rest if case not in at_once]
        for case in at_once:
            self._submit(case)

    def go(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Let it run until all is at rest; False when it is not by then. `meanwhile`: done while some still wait."""
        deadline = time.monotonic() + seconds
        quiet = 0
        while quiet < QUIET_POLLS:
            if time.monotonic() > deadline:
                return False
            self._play()
            if self.waiting:
                meanwhile()
            quiet = quiet + 1 if self._is_at_rest() else 0
            time.sleep(POLL_SECONDS)
        return True

    def restore(self) -> bool:
        """Put back what the job store held of jobs that are over by now; whether there were any."""
        cases = [case for case in self.cases if case.row.faults.endswith("settled.restored")]
        for case in cases:
            for name, value in self.stored[case.key].items():
                self.world.redis.restore(name, 0, value, replace=True)
                self.world.redis.rpush(f"rq:queue:{case.row.queue}", name.decode().removeprefix("rq:job:"))
        return bool(cases)

    def unsettled(self) -> list[str]:
        """What keeps it from being at rest."""
        rest = Operation.objects.exclude(status__in=AT_REST).values_list("entity", "status", "reason_code")
        workers = {pid for pid, _queue in self.world.workers.values()}
        marked = self.world.marked("fired").items()
        horses = [f"process {pid} of {mark}" for pid, mark in marked if pid not in workers]
        lengths = {queue: self.world.redis.llen(f"rq:queue:{queue}") for queue in self.staff}
        queued = [f"{queue}: {length} waiting" for queue, length in lengths.items() if length]
        return [*(" ".join(one) for one in rest), *horses, *queued]

    # ------------------------------------------------------------------------------------------------------------------

    def _submit(self, case: Case) -> None:
        self._arm(case)
        _submit(self.world, case)
        self._do_to_queued(case)

    def _submit_more(self) -> None:
        """As many as there is somebody for: a long queue would only wait. Who stands still needs another to go on."""
        open_ones = Operation.objects.exclude(status__in=AT_REST).values_list("queue", "entity")
        under_way = Counter(queue for queue, _key in open_ones)
        still = Counter(queue for queue, key in open_ones if ".freeze" in key)
        for case in list(self.waiting):
            queue, staff = case.row.queue, self.staff[case.row.queue]
            stands_still = ".freeze" in case.key
            if under_way[queue] < IN_HAND * staff and not (stands_still and still[queue] >= staff / 2):
                under_way[queue] += 1
                still[queue] += stands_still
                self.waiting.remove(case)
                self._submit(case)

    def _arm(self, case: Case) -> None:
        for one in case.row.faults.split("+"):
            point, _, event = one.partition(".")
            if point == "in_call":
                oracle.arm(self.world.oracle, case.key, "slow", seconds=LATE_SECONDS)
            if event in CALLS:
                how = dict(CALLS[event])
                oracle.arm(self.world.oracle, case.key, how.pop("fault", event), **how)

    def _do_to_queued(self, case: Case) -> None:
        redis, queue = self.world.redis, f"rq:queue:{case.row.queue}"
        event = case.row.faults.partition("queued.")[2]
        job_id = Operation.objects.filter(entity=case.key).values_list("job_id", flat=True).first()
        if event in ("lost_hash", "lost_all"):
            redis.delete(f"rq:job:{job_id}")
        if event in ("lost_place", "lost_all"):
            redis.lrem(queue, 0, str(job_id))
        if event == "doubled":
            redis.rpush(queue, str(job_id))
        if "settled" in case.row.faults:
            value: Any = redis.dump(f"rq:job:{job_id}")
            self.stored[case.key] = {f"rq:job:{job_id}".encode(): value}

    def _play(self) -> None:
        self.world.staff(self.staff)
        self.world.observe()
        self.world.forget_the_dead()
        self.world.clear_up()
        self._submit_more()
        self._wake()
        for key, status, fence in Operation.objects.values_list("entity", "status", "fence"):
            if self.seen[key][-1:] != [f"{status} {fence}"]:
                self.seen[key].append(f"{status} {fence}")
        self._look_at_files()

    def _wake(self) -> None:
        for pid, mark in self.world.marked("frozen").items():
            until = self.wakes_at.setdefault(pid, time.monotonic() + WAKE_SECONDS)
            is_time = time.monotonic() > until or self._has_gone_on(mark.rpartition("@")[0], pid)
            if is_time and _stands_still(pid):
                (self.world.folder / "frozen" / mark).unlink()
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def _has_gone_on(self, key: str, pid: int) -> bool:
        """Whether the ledger has done without the attempt of that process, as far as it ever will."""
        mine = Attempt.objects.filter(operation__entity=key, pid=pid, number__gte=1).first()
        if mine is not None and mine.outcome == "":
            return False
        status = Operation.objects.values_list("status", flat=True).get(entity=key)
        waited = self.wakes_at[pid] - WAKE_SECONDS + 2 * SHORT_SECONDS < time.monotonic()
        return (mine is not None and status in AT_REST) or (mine is None and waited)

    def _look_at_files(self) -> None:
        for file in (self.world.folder / "results").iterdir():
            if not file.name.startswith(".") and "~" in file.name and not is_whole(file.name):
                self.partial_files.add(file.name)

    def _is_at_rest(self) -> bool:
        if self.waiting or not self.world.are_submitted() or Operation.objects.exclude(status__in=AT_REST).exists():
            return False
        queues = set(self.staff)
        if any(self.world.redis.llen(f"rq:queue:{queue}") for queue in queues):
            return False
        return not self.world.horses() and not self._work_goes_on()

    def _work_goes_on(self) -> bool:
        workers = {pid for pid, _queue in self.world.workers.values()}
        return bool(set(self.world.marked("fired")) - workers) or any(
            self.world.redis.hget(f"rq:worker:{name}", "state") == b"busy" for name in self.world.workers
        )


@dataclass(frozen=True, kw_only=True)
class Found:
    """How a case ended, in the words of the table."""

    status: str
    effects: int
    attempts: str
    is_skipped: bool
    is_refused: bool
    is_contradicted: bool

    def __str__(self) -> str:
        marks = (
            (" +" if self.is_skipped else "")
            + (" -" if self.is_refused else "")
            + (" !" if self.is_contradicted else "")
        )
        return f"{self.status} {self.effects}: {self.attempts}".strip().removesuffix(":") + marks


def found_of(case: Case, world: World) -> Found:
    """What came of it."""
    operation = Operation.objects.filter(entity=case.key).first()
    attempts = list(operation.attempts.order_by("fence", "number")) if operation else []
    return Found(
        status=operation.status if operation else "none",
        effects=effects_of(case, world),
        attempts=" ".join(one.outcome or "open" for one in attempts if one.number),
        is_skipped=any(one.outcome == "skipped_duplicate" for one in attempts),
        is_refused=any(one.outcome == "refused" for one in attempts),
        is_contradicted=OperationEvent.objects.filter(operation=operation, kind="contradiction").exists(),
    )


def effects_of(case: Case, world: World) -> int:
    """How often it happened, wherever it happens."""
    from jobs.models import Queue

    if case.row.job == "write_down":
        return Queue.objects.filter(name=case.key).count()
    if case.row.job == "export":
        return int(work.file_of(case.key).exists())
    return len(oracle.effects(world.oracle, case.key))


def is_whole(key: str) -> bool:
    """Whether the result of a job is there as it is to be."""
    return work.file_of(key).read_bytes().count(b"\n") == work.LINES


# ----------------------------------------------------------------------------------------------------------------------


def _stands_still(pid: int) -> bool:
    """A moment lies between its mark and its stop; woken before, it would sleep for ever."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _submit(world: World, case: Case) -> None:
    row = case.row
    timeout = SHORT_SECONDS if STANDS_STILL & set(row.events) else LONG_SECONDS
    if row.point in BY_PROCESS:
        world.submit(key=case.key, job=row.job, kind=row.kind, queue=row.queue, timeout=timeout)
        return
    queue = rq.Queue(row.queue, connection=world.redis)
    if row.job == "gone":
        _submit_what_is_gone(queue, case)
        return
    function = getattr(work, row.job)
    rq_job(queue, connection=world.redis, timeout=timeout)(function)
    with transaction.atomic():
        JobType.objects.create(path=case.key)
        operation = function.submit(row.kind, case.key)
        if row.expected:
            # Whoever takes it up again has time, so that the machine's load makes no difference.
            Operation.objects.filter(pk=operation.pk).update(dispatch={**operation.dispatch, "timeout": LONG_SECONDS})


def _submit_what_is_gone(queue: rq.Queue, case: Case) -> None:
    """An operation of an earlier release, whose function nobody has any more."""
    args = {"kind": case.row.kind, "key": case.key}
    path, job_id = "tests.chaos.work.gone", uuid4().hex
    adoption.accept(
        f"{case.row.kind}:{case.key}",
        args_fingerprint="",
        args=args,
        entity=case.key,
        connection="default",
        queue=queue.name,
        job_id=job_id,
        job_type=path,
        dispatch={"timeout": LONG_SECONDS},
        policy=work.AT_ONCE.to_json(),
        max_attempts=5,
    )
    queue.enqueue_call(path, kwargs=args, job_id=job_id, timeout=LONG_SECONDS)
