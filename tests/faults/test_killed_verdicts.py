"""SIGKILL between any two steps of *it did not happen*: no word that was given is lost, no job runs twice for it."""

from __future__ import annotations

import signal
from datetime import UTC, datetime

import pytest

from jobs.actions.reviews import Saying, resolve
from jobs.domain.verdicts import Verdict
from jobs.ledger import operations
from jobs.models import AuditEntry, Resolution
from tests.faults.mortal import POINTS_OF_A_VERDICT as POINTS
from tests.faults.scene import JOBS, Scene
from tests.support.acts import read
from tests.support.real_rq import wait_until
from tests.support.reviews import GIVEN, review_of, take

pytestmark = pytest.mark.django_db(transaction=True)

VERB = "retry_job"
WITHOUT_A_TRACE = POINTS[: POINTS.index("after the intent is committed")]
BEFORE_THE_SCRIPT = ("after the intent is committed", "before the script is sent")
AFTER_THE_SCRIPT = POINTS[POINTS.index("after the script is sent") : -1]


@pytest.fixture
def scene(redis_client, furniture, transactional_db):
    scene = Scene(redis_client, furniture)
    yield scene
    scene.close()


@pytest.fixture
def review(scene, operator):
    """Nobody has declared the job's type: a person has to say what its last run did, and has taken the review."""
    review = review_of(JOBS[VERB])
    take(review, operator)
    return review


def saying(review, person):
    review.refresh_from_db()
    return Saying(
        actor=person,
        review_id=review.pk,
        verdict=Verdict.DID_NOT_HAPPEN,
        version=review.version,
        seen=read(JOBS[VERB]).seen,
        given=GIVEN[Verdict.DID_NOT_HAPPEN],
        now=datetime.now(UTC),
    )


@pytest.fixture
def kill(mortals, review, operator):
    """Say it in a process that is killed at that point."""

    def kill_at(point):
        assert mortals.resolve(saying(review, operator), dying=point) == -signal.SIGKILL
        review.refresh_from_db()

    return kill_at


def acts():
    return list(AuditEntry.objects.filter(verb=VERB).values_list("status", flat=True))


def stands(review):
    """What SQL says of the review and its job, and whether the two agree."""
    review.refresh_from_db()
    operation = review.operation
    standing = operations.standing_of("default", "orders", JOBS[VERB], operation.job_created_at)
    assert standing.has_open_review == (review.closed_at is None)
    return review.verdict or "open"


@pytest.mark.parametrize("point", WITHOUT_A_TRACE)
def test_killed_before_the_word_is_on_record_it_can_be_said_again(kill, scene, review, operator, point):
    version = review.version
    kill(point)
    assert (scene.became_of(VERB), stands(review), review.version) == ("untouched", "open", version)
    assert not acts() and not Resolution.objects.exists()
    assert resolve(saying(review, operator)).is_done
    assert scene.became_of(VERB) == "done"


@pytest.mark.parametrize("point", BEFORE_THE_SCRIPT)
def test_killed_before_the_script_is_sent_the_review_is_open_and_after_settling_free_for_the_next_word(
    kill, scene, review, operator, point, settle
):
    kill(point)
    assert (scene.became_of(VERB), stands(review), acts()) == ("untouched", "open", ["intended"])
    assert not resolve(saying(review, operator)).is_done
    assert scene.became_of(VERB) == "untouched"
    settle()
    assert (scene.became_of(VERB), stands(review), acts()) == ("untouched", "open", ["not_done"])
    assert resolve(saying(review, operator)).is_done
    assert (scene.became_of(VERB), stands(review), sorted(acts())) == ("done", "did_not_happen", ["done", "not_done"])


@pytest.mark.parametrize("point", AFTER_THE_SCRIPT)
def test_killed_after_the_script_is_sent_the_job_is_queued_once_and_settling_closes_the_review(
    kill, scene, review, operator, point, settle
):
    kill(point)
    wait_until(lambda: scene.became_of(VERB) == "done", "the store reads what was sent")
    assert (stands(review), acts()) == ("open", ["intended"])
    assert not resolve(saying(review, operator)).is_done
    settle()
    assert (scene.became_of(VERB), stands(review), acts()) == ("done", "did_not_happen", ["done"])
    assert Resolution.objects.get().evidence == GIVEN[Verdict.DID_NOT_HAPPEN]


def test_killed_after_the_record_is_closed_all_is_said_and_done(kill, scene, review, settle):
    kill("after the entry is closed")
    for _again in range(2):
        assert (scene.became_of(VERB), stands(review), acts()) == ("done", "did_not_happen", ["done"])
        settle()
