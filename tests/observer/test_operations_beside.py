"""Jobs of operations beside plain ones: who asks about them, and whether their failures want somebody."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from jobs.domain.verdicts import Verdict
from jobs.ledger import attempts, reviews
from jobs.ledger.reviews import Statement
from jobs.models import FailedJob, Operation, Resolution, Review
from jobs.observer import operations, unknown
from jobs.observer import reviews as follower
from tests.support.observer import sweep_through
from tests.support.op_ledger import begun as in_its_call
from tests.support.op_ledger import taken_over
from tests.support.operations import accepted, begun
from tests.support.runs import begin, file_as_abandoned

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]


@pytest.fixture
def delivery(real_rq, redis_client):
    """The operation whose job `job` RQ has given up, though an attempt of it may live on."""
    begin(real_rq, redis_client, "job", lease=-1)
    operation = accepted(queue="orders", job_id="job", job_type="fx.effect")
    begun(operation)
    return operation


# Who asks -------------------------------------------------------------------------------------------------------------


def test_nobody_asks_of_a_run_of_an_operation_what_is_asked_of_plain_ones(delivery, real_rq, redis_client):
    begin(real_rq, redis_client, "plain", lease=-1)
    unknown.look("default", timezone.now())
    assert [one.operation.job_id for one in Review.objects.all()] == ["plain"]


def test_nobody_asks_of_an_older_delivery_either(delivery, redis_client):
    delivery.deliveries.get_or_create(job_id="job", queue="orders", connection="default", at=timezone.now())
    Operation.objects.update(job_id="a-later-one")
    file_as_abandoned(redis_client, "job")
    unknown.look("default", timezone.now())
    sweep_through("default", timezone.now())
    assert not Review.objects.exists()


def test_a_job_of_another_function_that_has_its_id_by_now_is_a_plain_one(delivery, redis_client):
    Operation.objects.update(job_type="shop.pay")
    unknown.look("default", timezone.now())
    assert Review.objects.get().operation.origin == "plain"


# Failures -------------------------------------------------------------------------------------------------------------


def is_open():
    return FailedJob.objects.get().is_open


@pytest.mark.parametrize(
    ("status", "wants_somebody"),
    [
        ("queued", False),
        ("running", False),
        ("retry_wait", False),
        ("completed", False),
        ("cancelled", False),
        ("unknown", True),
        ("failed", True),
    ],
)
def test_a_failed_job_wants_somebody_only_if_its_operation_does(delivery, redis_client, status, wants_somebody):
    file_as_abandoned(redis_client, "job")
    Operation.objects.update(status=status)
    sweep_through("default", timezone.now())
    assert is_open() == wants_somebody


def test_one_of_an_older_delivery_wants_nobody_whatever_became_of_the_later_one(delivery, redis_client):
    delivery.deliveries.get_or_create(job_id="job", queue="orders", connection="default", at=timezone.now())
    Operation.objects.update(status="failed", job_id="a-later-one")
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    assert not is_open()


def test_it_is_shown_once_the_operation_is_stuck_and_no_more_once_that_goes_on(delivery, redis_client):
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    assert not is_open()
    failure = attempts.Failure(kind="permanent", error_class="NoSuchPeriod", error_line="")
    attempts.fail(delivery, delivery.attempts.get(), failure, chance=0)
    assert is_open() and Operation.objects.get().status == "failed"


def test_what_was_given_up_in_its_review_wants_nobody_any_more(delivery, redis_client, operator):
    file_as_abandoned(redis_client, "job")
    Operation.objects.update(status="unknown", due_at=None)
    sweep_through("default", timezone.now())
    operations.mend(timezone.now())
    review = Review.objects.get()
    assert is_open()
    answer(review, operator, Verdict.ABANDON)
    assert not is_open() and Operation.objects.get().status == "failed"


def test_what_goes_on_after_its_review_wants_nobody_any_more(delivery, redis_client, operator):
    file_as_abandoned(redis_client, "job")
    Operation.objects.update(status="unknown", due_at=None)
    operations.mend(timezone.now())
    sweep_through("default", timezone.now())
    answer(Review.objects.get(), operator, Verdict.DID_NOT_HAPPEN)
    assert not is_open() and Operation.objects.get().status == "retry_wait"


def answer(review, person, verdict):
    now = timezone.now()
    assert reviews.claim_review(review, actor=person, now=now)
    review.refresh_from_db()
    said = Statement(actor=person, verdict=verdict, version_seen=review.version, reason="asked there")
    assert reviews.settle_review(review, said, now=now)


# Reviews of effects ---------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(redis_client, rq_version):
    """A review of an effect whose attempt is lost."""
    operation, _attempt, _effect = in_its_call("unsafe")
    taken_over(operation)
    return Review.objects.get()


def test_a_review_of_an_effect_says_from_the_beginning_that_its_attempt_is_dead(asked):
    assert asked.evidence["is_dead"] is True and asked.evidence["dead_after"] is None
    assert (asked.evidence["death_proof"], asked.evidence["worker_name"]) == ("process_gone", "worker-1")


def test_it_is_left_alone_by_what_follows_plain_ones(asked):
    follower.follow(timezone.now() + timedelta(hours=1))
    Review.objects.update(closed_at=timezone.now(), verdict="did_not_happen")
    follower.follow_closed(timezone.now())
    review = Review.objects.get()
    assert (review.finding, review.looked_at, review.look_due_at) == ("effect_unknown", None, asked.look_due_at)
    assert not Resolution.objects.exists()


def test_what_is_known_of_its_attempt_is_kept_up_to_date(asked):
    until = timezone.now() + timedelta(minutes=3)
    Review.objects.update(evidence={"is_dead": False, "dead_after": until.isoformat()})
    assert (follower.follow_effects(timezone.now()), follower.follow_effects(timezone.now())) == (1, 0)
    review = Review.objects.get()
    assert (review.evidence["is_dead"], review.version) == (True, asked.version)
    assert review.look_due_at > timezone.now() + timedelta(seconds=30)


def test_an_attempt_that_may_still_act_is_said_to(asked):
    """No rule opens a review of one; but should one be asked about, the page must not say that it is dead."""
    living = begun(accepted(), lease=60)
    Review.objects.update(attempt=living)
    follower.follow_effects(timezone.now())
    review = Review.objects.get()
    assert not review.evidence["is_dead"]
    assert datetime.fromisoformat(review.evidence["dead_after"]) == living.lease_until
    assert review.look_due_at < timezone.now() + timedelta(seconds=1)
