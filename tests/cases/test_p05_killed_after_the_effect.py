"""P05: killed after the effect, before the result. Worker and horse, the horse alone, and by a limit of memory.

The case's `Retry(max=3)` is RQ's own: of a plain job it would run the killed one again, which only the layer through
which operations are enqueued can keep it from. Here the review opens all the same, before RQ takes notice.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.actions.reviews import Saying, claim, resolve
from jobs.broker import running
from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, Resolution, Review
from tests.kills.hands import let_lease_run_out
from tests.support.acts import read
from tests.support.keyspace import dump, load, snapshot
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.reviews import GIVEN

pytestmark = pytest.mark.django_db(transaction=True)

KILLS = {
    # How the run of each ends, by the job's id, which is its order too.
    "p05-both": "fx.die_after_effect",
    "p05-horse": "fx.horse_dies_after_effect",
    "p05-memory": "fx.run_out_of_memory",
}
JOBS = pytest.mark.parametrize("job_id", list(KILLS))
LATER = timedelta(minutes=5)
"""By then no run of five seconds can be at work any more, whatever became of it."""


@pytest.fixture(scope="session")
def _killed():
    return {}


@pytest.fixture
def killed(real_rq, rq_version, redis_client, operator, _killed):
    """Each worker died of its job, a fresh one has done RQ's housekeeping, and the observer has looked."""
    if rq_version not in _killed:
        for job_id, function in KILLS.items():
            real_rq.enqueue(function, job_id, job_id=job_id, job_timeout=5)
        real_rq.start("orders", ready=False).wait()
        let_lease_run_out(redis_client, "p05-both")
        real_rq.burst("orders")
        _killed[rq_version] = dump(redis_client)
        redis_client.flushall()
    load(redis_client, _killed[rq_version])
    watch()
    return redis_client


def review_of(job_id):
    return Review.objects.select_related("operation").get(operation__job_id=job_id)


def say(person, job_id, verdict, now):
    review = review_of(job_id)
    assert claim(person, review.pk, now).is_done
    known = {"version": review_of(job_id).version, "seen": read(job_id).seen}
    return resolve(Saying(actor=person, review_id=review.pk, verdict=verdict, given=GIVEN[verdict], now=now, **known))


def test_p05_each_has_acted_once_and_sits_in_the_review_queue_with_its_last_sign_of_life(killed, operator, sign_in):
    assert [killed.get(f"effect:{job_id}") for job_id in KILLS] == [b"1"] * 3
    assert set(Review.objects.values_list("operation__job_id", "code", "finding")) == {
        (job_id, "result_unknown", "result_unknown") for job_id in KILLS
    }
    page = Page(sign_in(operator).get(at("reviews"))).text
    for job_id in KILLS:
        began = read(job_id).job.started_at
        assert began <= review_of(job_id).last_sign_of_life <= began + timedelta(seconds=10)
        assert job_id in page
    assert "unknown" in page


@JOBS
def test_p05_a_retry_is_not_offered_and_is_refused(killed, operator, sign_in, job_id):
    browser, address = sign_in(operator), at("job-retry", "orders", job_id)
    assert address not in [form.action for form in Page(browser.get(at("job", "orders", job_id))).forms]
    before = snapshot(killed)
    answer = browser.post(address, {"seen": read(job_id).seen})
    entry = AuditEntry.objects.get()
    assert (answer.status_code, entry.status, entry.decision_code) == (409, "refused", "review_open")
    assert snapshot(killed) == before


@JOBS
def test_p05_an_operator_says_that_it_happened_and_it_never_runs_again(killed, operator, sign_in, job_id):
    now = datetime.now(UTC)
    assert say(operator, job_id, Verdict.HAPPENED, now).is_done
    said = Resolution.objects.get()
    assert (said.verdict, said.actor, said.actor_name, said.created_at) == ("happened", operator, "otto", now)
    answer = sign_in(operator).post(at("job-retry", "orders", job_id), {"seen": read(job_id).seen})
    assert answer.status_code == 409 and "It took effect" in Page(answer).text
    assert killed.llen("rq:queue:orders") == 0 and killed.get(f"effect:{job_id}") == b"1"


@JOBS
def test_p05_an_operator_says_that_it_did_not_happen_and_it_is_queued_once(killed, operator, job_id, monkeypatch):
    store_time = running.store_time
    monkeypatch.setattr(running, "store_time", lambda name: store_time(name) + LATER)
    assert say(operator, job_id, Verdict.DID_NOT_HAPPEN, datetime.now(UTC)).is_done
    said = Resolution.objects.get()
    assert (said.verdict, said.actor_name, said.audit_entry.status) == ("did_not_happen", "otto", "done")
    assert (review_of(job_id).verdict, review_of(job_id).operation.status) == ("did_not_happen", "queued")
    assert killed.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]


def test_p05_with_retries_left_the_review_opens_all_the_same_before_rq_takes_notice(real_rq, redis_client, operator):
    real_rq.enqueue("fx.die_after_effect", 5, job_id="p05", job_timeout=5, retry={"max": 3})
    real_rq.start("orders").wait()
    let_lease_run_out(redis_client, "p05")
    watch()
    assert review_of("p05").finding == "lease_expired"
    real_rq.evaluate("rq.registry.StartedJobRegistry('orders', connection=connection).cleanup()")
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p05"]
    watch()
    assert review_of("p05").closed_at is None and redis_client.get("effect:5") == b"1"
