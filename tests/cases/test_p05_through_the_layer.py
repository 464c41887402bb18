"""P05 through the job-safety layer: RQ runs the killed job again by its own retries, and nothing is done twice."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jobs.actions.reviews import Saying, claim, resolve
from jobs.domain.verdicts import Verdict
from jobs.models import Operation, Resolution, Review
from jobs.observer import operations
from tests.kills.hands import let_lease_run_out
from tests.oracle import client
from tests.support.layer_rq import layer_rq
from tests.support.pages import Page, at
from tests.support.reviews import GIVEN

pytestmark = pytest.mark.django_db(transaction=True)
NEWEST = pytest.mark.parametrize("rq_version", ["3.0"])
DEATHS = ["kill_both", "kill_horse", "out_of_memory"]


@pytest.fixture
def rq(rq_version, valkey, redis_client, tmp_path, oracle):
    with layer_rq(rq_version, valkey.url, tmp_path, oracle) as rq:
        yield rq


def observe():
    operations.take_over_dead(timezone.now())
    operations.deliver("default", timezone.now())


@pytest.fixture
def die(rq, rq_version, redis_client, operator):
    """Let a worker die of the job after its effect, and RQ do with it what it does, retries and housekeeping included.

    Returns the operation's key.
    """

    def die(how):
        key = f"{rq_version}-{timezone.now():%H%M%S%f}~after_call.{how}"
        call = {"kind": "unsafe", "key": key}
        rq.enqueue("tests.chaos.work.act", job_id="p05", kwargs=call, retry={"max": 3}, job_timeout=5)
        rq.start("orders", ready=False, arguments=("--burst",)).wait()
        if how == "kill_both":
            let_lease_run_out(redis_client, "p05")
        rq.burst("orders")
        observe()
        rq.burst("orders")
        return key

    return die


def say(person, verdict):
    review = Review.objects.get()
    claim(person, review.pk, timezone.now())
    review.refresh_from_db()
    known = {"version": review.version, "given": GIVEN[verdict], "now": timezone.now()}
    return resolve(Saying(actor=person, review_id=review.pk, verdict=verdict, **known))


@pytest.mark.parametrize("how", DEATHS)
def test_p05_it_has_acted_once_and_sits_in_the_review_queue_with_its_last_sign_of_life(die, oracle, how):
    key = die(how)
    operation, review = Operation.objects.get(entity=key), Review.objects.get(closed_at=None)
    assert len(client.effects(oracle.url, key)) == 1
    assert (operation.status, review.operation, review.finding) == ("unknown", operation, "effect_unknown")
    attempts = operation.attempts.filter(number__gt=0)
    assert [one.outcome for one in attempts] == ["lost"]
    assert attempts[0].started_at <= review.last_sign_of_life <= attempts[0].ended_at


@NEWEST
def test_p05_the_operator_finds_it_as_unknown_and_is_offered_no_retry(die, operator, sign_in):
    die("kill_horse")
    browser = sign_in(operator)
    assert "nknown" in Page(browser.get(at("reviews"))).text
    forms = Page(browser.get(at("job", "orders", "p05"))).forms
    assert at("job-retry", "orders", "p05") not in [form.action for form in forms]


@NEWEST
def test_p05_an_operator_says_that_it_happened_and_it_is_completed_without_another_call(die, rq, operator, oracle):
    key = die("kill_both")
    assert say(operator, Verdict.HAPPENED).is_done
    observe()
    rq.burst("orders")
    assert (Operation.objects.get().status, len(client.effects(oracle.url, key))) == ("completed", 1)
    said = Resolution.objects.get()
    assert (said.verdict, said.actor_name, said.created_at is not None) == ("happened", "otto", True)


@NEWEST
def test_p05_an_operator_says_that_it_did_not_happen_and_it_is_done_again_under_his_name(die, rq, operator, oracle):
    key = die("kill_horse")
    assert say(operator, Verdict.DID_NOT_HAPPEN).is_done
    observe()
    rq.burst("orders")
    assert (Operation.objects.get().status, len(client.effects(oracle.url, key))) == ("completed", 2)
    assert [(one.verdict, one.actor_name) for one in Resolution.objects.all()] == [("did_not_happen", "otto")]
