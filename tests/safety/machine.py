"""Every order in which things can go wrong, tried at random, against the real tables (protocol, 4.2, layer b).

Time is in the machine's hand. A process may live on after its lease; a call follows its intent at once or never, and
what a process knows it may report at any time. People and probes say the truth. After every step the invariants are
looked at, and at the end faults stop and all has to settle.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobs.domain.decisions import Action, Decision
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, ErrorKind
from jobs.domain.verdicts import Verdict
from jobs.ledger import adoption, attempts, rescues
from jobs.ledger.consequences import ANOTHER_RUN
from jobs.ledger.moves import queue_grace, wait_until
from jobs.ledger.snapshots import snapshot_of
from jobs.models import Effect, Operation, Review
from tests.safety.machine_world import CALL, ENDS, HORIZON, LAG, Process, Service
from tests.support.op_ledger import LEASE, START, Clock, delivered, resolve, submitted

KINDS = ("repeatable", "keyed", "checkable", "unsafe")
TERMINAL = ("completed", "failed", "cancelled")
SETTLED = (*TERMINAL, "unknown")
ROUNDS = 60
OPERATIONS = st.tuples(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), st.booleans(), st.sampled_from([12, 5, 2, 1])
)
"""The classes of both effects, whether they are declared, and how many attempts there may be."""
VAIN = ("answers nothing", "is refused", "is lost on the way")
_NUMBERS = count()


class LedgerMachine(RuleBasedStateMachine):
    """One operation with two effects, and whatever can happen to it."""

    clock: Clock
    """That of the ledger, which the test has put into the machine's hand."""
    pk = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock.now = START
        self.corpses: list[Process] = []

    def teardown(self) -> None:
        if self.pk:
            self.settle()

    # What happens -----------------------------------------------------------------------------------------------------

    @initialize(told=OPERATIONS)
    def begin(self, told):
        self.submit(*told)

    def submit(self, kinds, is_declared, max_attempts):
        self.kinds = dict(zip(("first", "second"), kinds, strict=True))
        self.told = {
            "policy": {"max_attempts": max_attempts, "base": 0, "max_lost": 4},
            "declared_effects": tuple(self.kinds) if is_declared else (),
        }
        self.service = Service(self.clock)
        self.queue: list[str] = []
        self.processes: list[Process] = []
        self.keys: dict[str, str] = {}
        self.fence, self.closed_as = 0, ""
        self.id = f"machine:{next(_NUMBERS)}"
        self.pk = submitted(self.id, **self.told).pk

    @rule(data=st.data(), steps=st.integers(1, 6))
    def work(self, data, steps):
        """Whoever can go on does, or somebody sees to it that somebody can; and after one operation comes another."""
        for _step in range(steps):
            if self.processes and data.draw(st.integers(0, 5)):
                self.step(data.draw(st.sampled_from(self.processes)))
            elif self.queue:
                self.claim(data.draw(st.sampled_from(sorted(self.queue))))
            elif self.operation.status == "accepted":
                self.push(is_noted=data.draw(st.booleans()))
            elif self.operation.status in TERMINAL and not self.processes:
                self.submit(*data.draw(OPERATIONS))
            else:
                self.clock.forward(5)
                self.observe()

    @rule(data=st.data(), ways=st.lists(st.sampled_from(VAIN), min_size=1, max_size=3))
    def call_in_vain(self, data, ways):
        """The next calls fail; the service knows whether it has acted."""
        for way in ways:
            for _step in range(4):
                if not any(one.can_call for one in self.processes):
                    self.work(data, 1)
            if callers := [one for one in self.processes if one.can_call]:
                self.fail_in_call(callers[0], way)

    @rule(
        data=st.data(),
        how=st.sampled_from(["dies", "raises", "dies", "raises", "finds bad data"]),
        after=st.integers(0, 3),
    )
    def stop(self, data, how, after):
        """A process ends, wherever it is."""
        self.work(data, after)
        if not self.processes:
            return
        process = data.draw(st.sampled_from(self.processes))
        if how == "dies":
            self.processes.remove(process)
            self.corpses.append(process)
        else:
            kind = ErrorKind.TRANSIENT if how == "raises" else ErrorKind.PERMANENT
            self.end(process, ValueError(how), kind)

    @rule(
        data=st.data(),
        by=st.sampled_from([timedelta(seconds=5), LAG, queue_grace(), LEASE, HORIZON - CALL * 2, HORIZON]),
        after=st.integers(0, 3),
        is_observed=st.booleans(),
    )
    def pass_time(self, data, by, after, is_observed):
        self.work(data, after)
        self.clock.forward(by)
        if is_observed:
            self.observe()

    @rule(data=st.data(), steps=st.integers(0, 3))
    def overtake(self, data, steps):
        """A process is frozen past its lease and lives on beside the one that follows it."""
        self.work(data, 1)
        if not self.processes:
            return
        self.clock.forward(LEASE)
        self.observe()
        self.observe()
        if self.queue:
            self.claim(self.queue[-1])
        for _step in range(steps):
            if self.processes:
                self.step(data.draw(st.sampled_from(self.processes)))

    def observe(self) -> None:
        """What the observer does in one pass."""
        for process in self.corpses:
            attempts.take_over(self.pk, process.attempt.pk, fence=process.attempt.fence, proof="process_gone")
        self.corpses.clear()
        operation = self.operation
        if operation.due_at is None or operation.due_at > self.clock.now:
            return
        if operation.status == "running":
            attempt = operation.current_attempt
            attempts.take_over(self.pk, attempt, fence=operation.fence, proof=attempts.LEASE_OVER)
        elif operation.job_id not in self.queue or operation.status == "retry_wait":
            again = rescues.queue_again(operation, "lost")
            self.queue += [again.job_id] if again else []

    @rule(
        data=st.data(),
        what=st.sampled_from(["lose", "double", "retry", "finish", "silence", "lose", "double", "retry", "cancel"]),
        after=st.integers(0, 3),
    )
    def happen(self, data, what, after):
        """What comes from elsewhere."""
        self.work(data, after)
        if what in ("lose", "double") and self.queue:
            job_id = data.draw(st.sampled_from(sorted(self.queue)))
            (self.queue.remove if what == "lose" else self.queue.append)(job_id)
        elif what == "finish" and self.operation.status == "retry_wait":
            rescues.complete_declared(self.operation)
        elif what == "silence":
            self.service.is_silent = not self.service.is_silent
        elif what == "cancel":
            Operation.objects.filter(pk=self.pk).update(cancel_requested_at=self.clock.now)
        elif what == "retry":
            self.operator_retries()

    def operator_retries(self):
        operation = self.operation
        decision = decide(snapshot_of(operation, self.clock.now), self.clock.now, AskedBy.OPERATOR)
        if operation.status == "failed" and decision.action in (Action.RETRY, Action.PROBE):
            self.closed_as = ""
            asked = Decision(Action.RETRY, "asked_for", "A person asked for it.")
            wait_until(operation, self.clock.now, asked, self.clock.now, is_on_its_way=False, **ANOTHER_RUN)

    @precondition(lambda self: self.review is not None)
    @rule(is_given_up=st.integers(0, 9).map(lambda number: number == 0))
    def resolve(self, is_given_up):
        """A person finds out the truth; what the ledger says of the old attempt's death he believes."""
        review = self.review
        assert review.attempt.ended_at is not None
        happened = self.service.count(review.effect.name)
        verdict = Verdict.ABANDON if is_given_up else Verdict.HAPPENED if happened else Verdict.DID_NOT_HAPPEN
        self.closed_as = ""
        resolve(review, verdict, self.clock.now)

    # What must hold ---------------------------------------------------------------------------------------------------

    @invariant()
    def nothing_happens_twice(self):
        """I1."""
        for name, kind in getattr(self, "kinds", {}).items():
            assert kind == "repeatable" or self.service.count(name) <= 1, f"{name} ({kind}) happened twice"

    @invariant()
    def the_ledger_says_what_happened(self):
        """I2, I3 and I8."""
        if not self.pk:
            return
        rows = {one.name: one for one in Effect.objects.filter(operation=self.pk)}
        for name in self.kinds:
            row, happened = rows.get(name), self.service.count(name)
            assert not happened or (row is not None and row.status != "released"), f"{name} happened, and is denied"
            assert happened or row is None or row.status != "completed", f"{name} is said to have happened"
            if row is not None:
                assert self.keys.setdefault(name, row.idempotency_key) == row.idempotency_key
        if self.operation.status == "completed":
            assert all(self.service.count(name) for name in self.kinds)

    @invariant()
    def somebody_looks_after_it(self):
        """I4, I5 and I6."""
        if not self.pk:
            return
        operation = self.operation
        assert (operation.due_at is None) == (operation.status in SETTLED), operation.status
        assert (operation.status == "unknown") == (self.review is not None)
        assert self.closed_as in ("", operation.status), f"{self.closed_as} became {operation.status}"
        self.closed_as = operation.status if operation.status in TERMINAL else ""
        doubtful = Effect.objects.filter(operation=self.pk, status__in=("begun", "unknown"))
        if operation.status in TERMINAL:
            assert not doubtful.exclude(idempotency="repeatable").exists(), "an open question was buried"
        if operation.status == "cancelled":
            assert not any(self.service.book.values()), "cancelled, and it happened"

    @invariant()
    def one_attempt_holds_it(self):
        """I7."""
        if not self.pk:
            return
        operation = self.operation
        open_ones = [one.pk for one in operation.attempts.filter(outcome="")]
        assert open_ones == ([operation.current_attempt] if operation.status == "running" else [])
        for effect in Effect.objects.filter(operation=self.pk).select_related("begun_by"):
            ended_at = effect.begun_by.ended_at
            assert ended_at is None or effect.begun_at <= ended_at, "begun by who was taken over"
        assert operation.fence >= self.fence
        self.fence = operation.fence

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def operation(self) -> Operation:
        return Operation.objects.get(pk=self.pk)

    @property
    def review(self) -> Review | None:
        if not self.pk:
            return None
        reviews = Review.objects.select_related("operation", "effect")
        return reviews.filter(operation=self.pk, closed_at=None).first()

    def end(self, process: Process, error: BaseException, kind: ErrorKind = ErrorKind.TRANSIENT) -> None:
        self.processes.remove(process)
        decision = process.raise_(error, kind)
        if decision and decision.action in (Action.RETRY, Action.PROBE, Action.WAIT):
            self.queue.append(process.attempt.job_id)

    def settle(self) -> None:
        """Faults are over: with everybody doing his part, all comes to an end (I4)."""
        self.corpses += self.processes
        self.processes = []
        self.service.is_silent = False
        for _round in range(ROUNDS):
            if self.operation.status in TERMINAL:
                break
            self.one_good_round()
        for check in (self.nothing_happens_twice, self.the_ledger_says_what_happened, self.somebody_looks_after_it):
            check()
        assert self.operation.status in TERMINAL, f"{self.operation.status} {self.operation.reason_code} for ever"

    def push(self, *, is_noted: bool) -> None:
        self.queue.append(self.operation.job_id)
        if is_noted:
            adoption.mark_queued(self.pk, self.operation.job_id)

    def claim(self, job_id: str) -> None:
        self.queue.remove(job_id)
        claim = attempts.claim(delivered(self.id, job_id=job_id, is_submitted=True, **self.told))
        if claim.operation and claim.attempt:
            self.processes.append(Process(claim.operation, claim.attempt, self.service, self.kinds))

    def fail_in_call(self, process: Process, way: str) -> None:
        assert process.handle is not None
        if way == "answers nothing":
            process.call()
        if way == "is refused":
            process.handle.release("refused")
        self.end(process, OSError(way))

    def step(self, process: Process) -> None:
        """Its next line: the intent, the call, the record of it, or the end. A call that is too late is never made."""
        if process.handle is not None:
            if process.has_called:
                process.record()
            elif process.can_call:
                process.call()
            else:
                self.end(process, TimeoutError("too late"))
            return
        try:
            is_done = process.begin_next() == "done"
        except ENDS as error:
            self.end(process, error)
            return
        if is_done:
            attempts.complete(process.operation, process.attempt)
            self.processes.remove(process)

    def one_good_round(self) -> None:
        if (review := self.review) is not None and review.effect is not None:
            happened = self.service.count(review.effect.name)
            resolve(review, Verdict.HAPPENED if happened else Verdict.DID_NOT_HAPPEN, self.clock.now)
        self.clock.forward(queue_grace())
        self.observe()
        while self.queue or self.processes:
            if self.processes:
                self.step(self.processes[0])
            else:
                self.claim(self.queue[0])
