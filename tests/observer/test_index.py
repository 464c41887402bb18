"""The index of failures after a sweep, held against what real workers of both RQ versions left in Redis."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.broker.details import read_job
from jobs.broker.evidence import evidence_of
from jobs.domain.findings import judge
from jobs.ledger import failures as ledger
from jobs.models import FailedJob, JobType, ObservedAttempt
from jobs.observer import failures
from tests.observer.rows import attempts, ids, row, text
from tests.support.observer import sweep_through
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db


def sweep():
    return sweep_through("default", timezone.now())


def test_a_failed_job_is_indexed_with_what_a_list_shows(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    sweep()
    found = row("b-1")
    result_id = redis_client.xrevrange("rq:results:b-1", count=1)[0][0].decode()
    assert (found.job_type, found.finding, found.place, found.is_open) == ("fx.boom", "failed_known", "failed", True)
    assert (found.error_class, found.error_line, found.seen) == ("ValueError", "ValueError: boom 7", result_id)
    assert (found.ids, found.hidden_arguments, found.can_open) == ([["#1", "7", "number", True]], 0, True)
    assert found.failed_at == found.ended_at and found.created_at < found.started_at < found.ended_at
    assert float(found.score.rstrip("~")) == redis_client.zscore("rq:failed:orders", "b-1")
    assert found.worker_name == redis_client.hget("rq:job:b-1", "worker_name").decode()


def test_of_each_job_the_newest_attempts_stay_on_record(real_rq, redis_client, monkeypatch):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    monkeypatch.setattr(ledger, "ATTEMPTS_KEPT", 3)
    ((_first, error),) = redis_client.xrange("rq:results:b-1")
    for _again in range(4):
        redis_client.xadd("rq:results:b-1", error)
        FailedJob.objects.update(score="")
        sweep()
    newest = [result_id.decode() for result_id, _error in redis_client.xrevrange("rq:results:b-1", count=3)]
    assert list(row("b-1").attempts.values_list("result_id", flat=True)) == newest


def test_of_the_attempts_on_record_only_those_at_hand_are_asked_for(real_rq):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    real_rq.fail("fx.boom", 7, job_id="b-2")
    sweep()
    found, other = row("b-1"), row("b-2")
    ObservedAttempt.objects.create(failed_job=found, result_id="1-0", kind="failed")
    assert ledger.results_on_record({found.digest: ["1-0", "2-0"], other.digest: []}) == {found.digest: {"1-0"}}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL reads so few rows without an index")
def test_a_walk_through_the_index_reads_the_rows_of_one_queue_and_counts_without_any():
    with CaptureQueriesContext(connection) as asked:
        ledger.count_standing("default")
        ledger.standing_rows("default", "orders", after=7, limit=10)
        ledger.odd_rows("default", "orders")
    count, walk, odd = (plan_of(query["sql"]) for query in asked.captured_queries)
    assert "COVERING INDEX failed_by_place (connection=? AND place=?)" in count and "B-TREE" not in count
    assert "INDEX failed_by_place (connection=? AND place=? AND queue=? AND rowid>?)" in walk.replace("id>", "rowid>")
    assert "INDEX failed_odd" in odd


def plan_of(sql):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return "; ".join(str(one[-1]) for one in cursor.fetchall())


def test_every_end_that_a_worker_records_is_judged_as_on_the_jobs_page(real_rq):
    for number, function in enumerate(["fx.boom", "fx.missing.name", "fx.declined", "fx.horse_dies_after_effect"]):
        real_rq.enqueue(function, number, job_id=f"j-{number}")
    real_rq.enqueue("fx.ok", 7, job_id="done", on_success="fx.on_success_boom")
    real_rq.enqueue("fx.try_again", 7, 1, job_id="used-up")
    real_rq.burst()
    sweep()
    for found in FailedJob.objects.all():
        detail = read_job("default", "orders", found.job_id, now=timezone.now())
        assert (found.finding, found.seen) == (judge(evidence_of(detail), timezone.now()).finding, detail.seen)
    findings = dict(FailedJob.objects.values_list("job_id", "finding"))
    assert (findings["j-3"], findings["done"]) == ("result_unknown", "done_but_marked_failed")
    assert row("j-2").error_class == "fx.CardDeclined"
    assert row("used-up").error_line == "It asked to be run again; its retries are used up."


def test_a_job_that_fails_again_keeps_its_row_and_both_attempts(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    sweep()
    first = row("b-1")
    FailedJob.objects.update(verdict="happened", is_open=False)
    real_rq.evaluate("rq.job.Job.fetch('b-1', connection=connection).requeue() and None")
    real_rq.burst()
    sweep()
    again = row("b-1")
    assert again.pk == first.pk and again.seen != first.seen and again.failed_at > first.failed_at
    assert (again.verdict, again.is_open, again.place) == ("", True, "failed")
    assert attempts("b-1") == [("failed", "ValueError: boom 7")] * 2


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_hidden_values_and_secrets_are_masked_before_they_are_kept(real_rq):
    real_rq.fail("fx.say", 7, "card of Anna Adler, password=hunter22", job_id="s-1")
    real_rq.fail("fx.boom", expression="(7, fx.Parcel('x' * 40))", job_id="p-1")
    sweep()
    kept = str(FailedJob.objects.values_list()) + "".join(map(text, ObservedAttempt.objects.all()))
    assert "Anna" not in kept and "hunter22" not in kept and "x" * 40 not in kept
    assert "Traceback (most recent call last):" in text(row("s-1").attempts.get())
    assert row("s-1").hidden_arguments == 1


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_what_was_declared_decides_which_arguments_are_kept(real_rq):
    JobType.objects.create(path="fx.say", id_parameters=["#2"])
    real_rq.fail("fx.say", 4711, "order-8", job_id="s-1")
    sweep()
    assert [one[:2] for one in row("s-1").ids] == [["#2", "order-8"]]
    assert row("s-1").error_line == "ValueError: order-8"


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_what_is_known_is_not_read_again(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    sweep()
    before = list(FailedJob.objects.values())
    with count_traffic(redis_client) as traffic:
        assert sweep() == 0
    assert "hmget" not in traffic.by_command and "xrevrange" not in traffic.by_command
    assert list(FailedJob.objects.values()) == before


def test_a_row_that_was_read_while_its_job_left_says_where_it_is(failing, redis_client, monkeypatch):
    failing.fail("b-1")
    seen = failures.scan_failed("default", "orders", 0)
    redis_client.zrem("rq:failed:orders", "b-1")
    redis_client.hset("rq:job:b-1", "status", "queued")
    monkeypatch.setattr(failures, "scan_failed", lambda *_asked: seen)
    sweep()
    assert (row("b-1").place, row("b-1").is_open) == ("moved", False)
    assert attempts("b-1") == [("failed", "ValueError: boom 7")]


def test_an_entry_that_left_without_a_trace_while_it_was_read_gets_no_row(failing, redis_client, monkeypatch):
    failing.fail("b-1", "b-2")
    seen = failures.scan_failed("default", "orders", 0)
    redis_client.zrem("rq:failed:orders", "b-1")
    redis_client.delete("rq:job:b-1")
    monkeypatch.setattr(failures, "scan_failed", lambda *_asked: seen)
    sweep()
    assert ids() == ["b-2"]


def test_when_it_failed_is_never_in_the_future_and_never_of_a_run_before(failing):
    now = timezone.now()
    failing.fail("ahead", at=now.timestamp() + 50)
    failing.fail("again", at=now.timestamp() - 50, started_at="2999-01-01T00:00:00.000000Z")
    sweep_through("default", now)
    assert row("ahead").failed_at == now
    # Its end is before its start, so it is that of another run, and the result says when this one ended.
    assert row("again").failed_at == row("again").attempts.get().ended_at
