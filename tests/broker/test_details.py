"""One job whole, as real workers of both RQ versions leave it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.broker.details import find_origins, read_job
from jobs.broker.evidence import evidence_of
from jobs.broker.records import ResultKind
from jobs.domain.findings import Finding, judge
from tests.support.real_rq import wait_until
from tests.support.traffic import count_traffic


def detail(job_id, queue="orders"):
    return read_job("default", queue, job_id, now=datetime.now(UTC))


def finding(job_id, queue="orders", *, later=timedelta(0)):
    found = read_job("default", queue, job_id, now=datetime.now(UTC) + later)
    return judge(evidence_of(found), datetime.now(UTC) + later).finding


def test_a_failed_job_is_read_with_its_results_and_its_token(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    found = detail(job_id)
    assert found.newest_result.kind is ResultKind.FAILED
    assert found.seen == redis_client.xrevrange(f"rq:results:{job_id}", count=1)[0][0].decode()
    assert (found.queued_times, set(found.scores)) == (0, {"failed"})
    assert found.expires_at > datetime.now(UTC) + timedelta(days=364)


def test_without_any_result_the_end_time_is_the_token(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.delete(f"rq:results:{job_id}")
    assert detail(job_id).seen == "-" + redis_client.hget(f"rq:job:{job_id}", "ended_at").decode()


def test_a_job_page_is_two_round_trips(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    detail(job_id)
    with count_traffic(redis_client) as traffic:
        detail(job_id)
    assert traffic.round_trips == 2
    assert traffic.commands <= 25


def test_a_job_of_another_queue_is_not_this_queues(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7, queue="payroll")
    redis_client.zadd("rq:failed:orders", {job_id: 9999999999})
    assert detail(job_id, "orders") is None
    assert detail(job_id, "payroll") is not None
    assert detail("no-such-job") is None


def test_an_id_that_is_only_listed_is_a_job_whose_data_is_gone(real_rq, redis_client):
    redis_client.zadd("rq:failed:orders", {"ghost": 9999999999})
    assert detail("ghost").job.exists is False
    assert finding("ghost") is Finding.GONE


def test_dependents_and_dependencies_are_named(real_rq):
    parent = real_rq.fail("fx.boom", 7)
    child = real_rq.enqueue("fx.ok", 8, depends_on=parent)
    assert [(one.job_id, one.status) for one in detail(parent).dependents] == [(child, "deferred")]
    assert [one.job_id for one in detail(child).dependencies] == [parent]


def test_a_running_job_shows_its_lease_and_its_worker(real_rq):
    job_id = real_rq.enqueue("fx.slow", 7, 30)
    worker = real_rq.start("orders")
    worker.wait_for_horse()
    wait_until(lambda: detail(job_id).executions, "the run has a record")
    (run,) = detail(job_id).executions
    assert run.lease_until > datetime.now(UTC)
    assert detail(job_id).queue_has_worker
    assert wait_until(lambda: detail(job_id).worker, "the job names its worker").name == worker.name
    assert finding(job_id) is Finding.RUNNING


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_job_queued_twice_is_counted_twice(real_rq):
    for _ in range(2):
        real_rq.enqueue("fx.ok", 7, job_id="twice")
    assert detail("twice").queued_times == 2


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_every_registry_of_the_wrong_type_is_read_as_empty(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    for key in (f"rq:results:{job_id}", f"rq:executions:{job_id}", "rq:queue:orders", "rq:workers:orders"):
        redis_client.delete(key)
        redis_client.set(key, "x")
    found = detail(job_id)
    assert (found.results, found.executions, found.queued_times) == ((), (), 0)


def test_the_findings_of_what_real_workers_leave(real_rq, redis_client):
    """The rows of the table of events that need no waiting; the rest has tests of its own."""
    raised = real_rq.fail("fx.boom", 7)
    missing = real_rq.fail("fx_gone.charge", 7)
    unfit = real_rq.fail("fx.declined", 7, 8, 9)
    done = real_rq.fail("fx.ok", 7, on_success="fx.on_success_boom")
    killed = real_rq.fail("fx.horse_dies_after_effect", 7)
    exited = real_rq.fail("fx.exit_at_once", 7, 3)
    slow = real_rq.fail("fx.slow", 7, 5, job_timeout=1)
    used_up = real_rq.fail("fx.try_again", 7, 1)
    finished = real_rq.fail("fx.ok", 8)
    waiting = real_rq.enqueue("fx.ok", 9)
    assert finding(raised) is Finding.FAILED_KNOWN
    assert finding(missing) is Finding.NEVER_STARTED
    assert finding(unfit) is Finding.NEVER_STARTED
    assert finding(done) is Finding.DONE_BUT_MARKED_FAILED
    assert finding(killed) is Finding.RESULT_UNKNOWN
    assert finding(exited) is Finding.RESULT_UNKNOWN
    assert finding(slow) is Finding.RESULT_UNKNOWN
    assert finding(used_up) is Finding.FAILED_KNOWN
    assert finding(finished) is Finding.FINISHED
    assert finding(waiting) is Finding.QUEUED


def test_a_lost_worker_and_horse_are_noticed_when_the_lease_runs_out(real_rq):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    worker = real_rq.start("orders")
    worker.wait_for_horse()
    wait_until(lambda: finding(job_id) is Finding.RUNNING, "the job runs")
    worker.kill_session()
    assert finding(job_id) is Finding.RUNNING
    assert finding(job_id, later=timedelta(minutes=10)) is Finding.LEASE_EXPIRED


def test_a_stopped_job_has_an_unknown_result(real_rq):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    real_rq.start("orders").wait_for_horse()
    wait_until(lambda: finding(job_id) is Finding.RUNNING, "the job runs")
    real_rq.evaluate(f"rq.command.send_stop_job_command(connection, {job_id!r})")
    wait_until(lambda: finding(job_id) is Finding.STOPPED, "the job is stopped")


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_times_and_limits_beyond_all_reason_are_read_as_unknown(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.pexpire(f"rq:job:{job_id}", 2**60)
    redis_client.hset(f"rq:job:{job_id}", mapping={"timeout": "9" * 18, "ended_at": "9999-12-31T23:59:59Z"})
    redis_client.zadd("rq:failed:orders", {job_id: float("inf")})
    found = detail(job_id)
    assert (found.expires_at, found.job.ended_at) == (None, None)
    assert finding(job_id) is Finding.FAILED_KNOWN


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_an_id_lost_between_queue_and_worker_is_found_out(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.ok", 7)
    redis_client.delete("rq:queue:orders")
    assert finding(job_id) is Finding.LOST


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_an_id_is_found_in_its_queue_or_where_it_is_only_listed(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.zadd("rq:failed:orders", {"ghost": 9999999999})
    assert find_origins("default", job_id, ["orders", "payroll"]) == ("orders",)
    assert find_origins("default", "ghost", ["orders", "payroll"]) == ("orders",)
    assert find_origins("default", "nobody", ["orders"]) == ()
