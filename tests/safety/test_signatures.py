"""A stored call meets the function of another release: it is taken, or refused as such, and never half of either."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone
from rq.decorators import job as rq_job

from jobs.actions.jobs import ACTS
from jobs.actions.operations import OperationWish, retry_operation
from jobs.broker.deliveries import META
from jobs.domain.failures import DOES_NOT_FIT, Reach, read_failure
from jobs.ledger import rescues
from jobs.models import Operation, Queue
from jobs.observer import operations
from jobs.safety import operation
from tests.safety.work import AT_ONCE
from tests.support.layer_rq import layer_rq
from tests.support.op_ledger import submitted as on_record
from tests.support.operations import due

pytestmark = pytest.mark.django_db(transaction=True)
PAINTED: list[Any] = []
PATH = f"{__name__}.paint"


def paint(order_id: int) -> None:
    PAINTED.append(order_id)


def _paint_in_colour(order_id: int, colour: str = "red") -> None:
    PAINTED.append((order_id, colour))


def _paint_in_coats(order_id: int, coats: int) -> None:
    PAINTED.append((order_id, coats))


def varnish(order_id: int) -> None:
    PAINTED.append(f"varnished {order_id}")


def _declared(function: Callable[..., Any], name: str = "paint", **options: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    return operation("paint:{order_id}", retry=AT_ONCE, **options)(function)


FIRST, IN_COLOUR, IN_COATS = (_declared(one) for one in (paint, _paint_in_colour, _paint_in_coats))
RENAMED = _declared(varnish, "varnish", formerly=[PATH])


@pytest.fixture(autouse=True)
def deploy(monkeypatch):
    """deploy(release): from now on workers have this one; the first until then."""
    PAINTED.clear()

    def deployed(release) -> None:
        monkeypatch.setattr(sys.modules[__name__], "paint", release)

    deployed(FIRST)
    return deployed


@pytest.fixture
def submit(queue, deploy):
    """submit(release, *args): queued by a web process of that release."""

    def submitted(release, *args, **kwargs) -> Operation:
        found: Operation = rq_job(queue, connection=queue.connection)(release).submit(*args, **kwargs)
        return fresh(found)

    return submitted


@pytest.fixture
def bring(queue):
    """bring(operation, args, kwargs): its job brings exactly this call."""

    def brought(found: Operation, args=(), kwargs=None) -> None:
        queue.empty()
        meta = {META: found.operation_id}
        queue.enqueue_call(PATH, args=args, kwargs=kwargs or {}, job_id=found.job_id, meta=meta, timeout=30)

    return brought


@pytest.fixture
def retry(superuser, redis_client):
    """An operator has it run again; what he is told."""
    Queue.objects.create(connection="default", name="safe")

    def press(found: Operation) -> str:
        seen = {"actor": superuser, "operation_id": found.operation_id, "seen": found.version, "now": timezone.now()}
        outcome = retry_operation(ACTS["retry_job"], OperationWish(**seen, reason="", confirmed="nothing_begun"))
        assert outcome.is_done, outcome.sentence
        return outcome.sentence

    return press


def fresh(found: Operation) -> Operation:
    found.refresh_from_db()
    return found


def look() -> int:
    return operations.deliver("default", timezone.now())


def how_it_stands(found: Operation) -> tuple[str, str]:
    fresh(found)
    return found.status, found.reason_code


REFUSED = ("failed", "signature_mismatch")


# Taken ----------------------------------------------------------------------------------------------------------------


def test_what_the_release_before_has_stored_runs_with_the_default_of_what_is_new(submit, deploy, run_all):
    found = submit(FIRST, 5)
    deploy(IN_COLOUR)
    run_all()
    assert (how_it_stands(found), PAINTED) == (("completed", "completed"), [(5, "red")])


@pytest.mark.parametrize(("args", "kwargs"), [((5,), {}), ((), {"order_id": 5})], ids=["by place", "by name"])
def test_it_is_taken_by_place_and_by_name(submit, deploy, bring, run_all, args, kwargs):
    found = submit(FIRST, 5)
    bring(found, args, kwargs)
    deploy(IN_COLOUR)
    run_all()
    assert (how_it_stands(found)[0], PAINTED) == ("completed", [(5, "red")])


def test_a_function_that_was_renamed_takes_what_was_stored_under_its_old_name(submit, deploy, run_all):
    found = submit(FIRST, 5)
    deploy(RENAMED)
    run_all()
    assert (how_it_stands(found)[0], PAINTED, found.job_type) == ("completed", ["varnished 5"], f"{__name__}.varnish")


def test_one_that_does_not_say_what_it_was_called_is_another_job(submit, deploy, run_all):
    found = submit(FIRST, 5)
    deploy(_declared(varnish, "varnish"))
    run_all()
    assert PAINTED == [] and [one.decision_code for one in found.attempts.all()] == ["args_mismatch"]
    due(found)
    assert (look(), how_it_stands(found)) == (0, REFUSED)


# Refused --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {"order_id": 5, "colour": "blue"}),
        ((5, "blue"), {}),
        ((), {}),
        ((5,), {"order_id": 5}),
        ((), {"order_id": 5.5}),
    ],
    ids=["unknown", "too many", "missing", "twice", "no id"],
)
def test_what_does_not_fit_is_refused_at_once_and_nothing_of_it_runs(submit, bring, run_all, queue, args, kwargs):
    found = submit(FIRST, 5)
    bring(found, args, kwargs)
    run_all()
    assert (how_it_stands(found), PAINTED) == (REFUSED, [])
    assert "do not fit the function’s parameters in this release" in found.reason_text
    assert (found.attempts_used, found.lost_attempts, found.due_at) == (0, 0, None)
    assert queue.failed_job_registry.get_job_ids(cleanup=False) == [found.job_id]


def test_the_log_says_which_operation_was_refused_and_why(submit, deploy, run_all, caplog):
    found = submit(FIRST, 5)
    deploy(IN_COATS)
    with caplog.at_level("INFO", "opsboard.jobs"):
        run_all()
    (said,) = [one.msg for one in caplog.records if one.name == "opsboard.jobs"]
    assert said["event"] == "delivery turned away"
    ids = {"operationId": "paint:5", "jobId": found.job_id, "jobType": PATH}
    assert ids.items() <= said.items()
    assert (said["decisionCode"], said["finalStatus"]) == ("signature_mismatch", "refused")


def test_a_worker_of_the_old_release_refuses_what_the_new_one_stores_and_a_retry_after_the_deploy_runs_it(
    submit, deploy, run_all, retry
):
    found = submit(IN_COLOUR, 5, colour="blue")
    deploy(FIRST)
    run_all()
    assert (how_it_stands(found), look()) == (REFUSED, 0)
    deploy(IN_COLOUR)
    retry(found)
    run_all()
    assert (how_it_stands(found)[0], PAINTED) == ("completed", [(5, "blue")])


def test_however_often_it_is_tried_before_the_deploy_it_is_never_taken_for_what_kills_workers(
    submit, deploy, run_all, retry
):
    found = submit(FIRST, 5)
    deploy(IN_COATS)
    for _again in range(4):
        run_all()
        assert how_it_stands(found) == REFUSED
        retry(found)
    deploy(FIRST)
    run_all()
    assert (how_it_stands(found)[0], PAINTED) == ("completed", [5])


def test_between_two_attempts_it_is_refused_with_what_may_have_happened(submit, deploy, run_all):
    """A release came between them. What the first attempt began is said, and nothing is taken for not done."""
    found = submit(FIRST, 5)
    Operation.objects.update(status="retry_wait", attempts_used=1, fence=1)
    found.effects.create(name="send", idempotency="repeatable", status="begun", begun_at=timezone.now())
    deploy(IN_COATS)
    run_all()
    assert how_it_stands(found) == REFUSED
    assert "Begun, and may have happened: “send”" in found.reason_text


def test_where_the_worker_cannot_say_so_the_observer_finds_it_out(submit, deploy, run_all, monkeypatch):
    def gone(*_args):
        raise DatabaseError("gone")

    monkeypatch.setattr(rescues, "refuse_call", gone)
    found = submit(FIRST, 5)
    deploy(IN_COATS)
    run_all()
    assert how_it_stands(found) == ("queued", "")
    due(found)
    assert (look(), how_it_stands(found), PAINTED) == (0, REFUSED, [])


@pytest.mark.parametrize("status", ["queued", "running", "completed", "cancelled", "unknown"])
def test_a_job_that_is_not_its_newest_says_nothing_about_it(submit, bring, run_all, status):
    found = submit(FIRST, 5)
    bring(found, (), {"colour": "blue"})
    Operation.objects.update(job_id="newer", status=status)
    run_all()
    assert how_it_stands(found) == (status, "")


@pytest.mark.parametrize("status", ["running", "completed", "cancelled", "unknown"])
def test_nor_does_its_newest_where_it_waits_for_none(submit, bring, run_all, status):
    found = submit(FIRST, 5)
    bring(found, (), {"colour": "blue"})
    Operation.objects.update(status=status)
    run_all()
    assert how_it_stands(found) == (status, "")


def test_of_one_that_was_just_enqueued_rqs_own_record_proves_that_nothing_ran(queue, deploy, run_all):
    """There is no record of it, so it is judged as a plain job: by what RQ has written down."""
    job = queue.enqueue_call(PATH, args=(5,), timeout=30)
    deploy(IN_COATS)
    run_all()
    failure = read_failure(job.latest_result().exc_string)
    assert (failure.reach, failure.cause, failure.is_dead) == (Reach.NEVER_ENTERED, DOES_NOT_FIT, True)
    assert not Operation.objects.exists()


def test_a_stock_worker_of_the_older_rq_refuses_it_alike(valkey, redis_client, tmp_path, oracle):
    """What is read here of RQ's texts is read of those that the older one writes."""
    submitted = {"args": {"kind": "keyed", "key": "k"}, "job_type": "tests.chaos.work.act", "job_id": "submitted"}
    found = on_record("keyed:k", queue="orders", **submitted)
    call = {"kwargs": {"kind": "keyed", "key": "k", "colour": "blue"}, "job_timeout": 60}
    with layer_rq("2.12", valkey.url, tmp_path, oracle) as rq:
        rq.enqueue("tests.chaos.work.act", job_id="delayed", **call)
        rq.enqueue("tests.chaos.work.act", job_id="submitted", meta={META: "keyed:k"}, **call)
        rq.burst("orders")
        text = rq.evaluate("rq.job.Job.fetch('delayed', connection=connection).latest_result().exc_string")
    assert (how_it_stands(found), found.attempts_used) == (REFUSED, 0)
    assert (read_failure(text).reach, read_failure(text).cause) == (Reach.NEVER_ENTERED, DOES_NOT_FIT)
