"""SIGKILL of the process that acts, between any two steps: no job is lost or doubled, and its record is true."""

from __future__ import annotations

import signal

import pytest

from jobs.models import AuditEntry
from tests.faults.mortal import POINTS
from tests.faults.scene import Scene, wish
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

WITHOUT_A_TRACE = POINTS[: POINTS.index("after the intent is committed")]
BEFORE_THE_SCRIPT = ("after the intent is committed", "before the script is sent")
AFTER_THE_SCRIPT = ("after the script is sent", "after the answer is read")


@pytest.fixture
def scene(redis_client, furniture, declared):
    scene = Scene(redis_client, furniture)
    yield scene
    scene.close()


@pytest.fixture
def kill(mortals, verb, scene, operator, orders):
    """Ask for the act in a process that is killed at that point."""

    def kill_at(point):
        assert mortals.act(verb, wish(verb, operator, orders), dying=point) == -signal.SIGKILL

    return kill_at


@pytest.mark.parametrize("point", WITHOUT_A_TRACE)
def test_killed_before_the_intent_is_on_record_nothing_has_happened(kill, scene, verb, point):
    kill(point)
    assert scene.became_of(verb) == "untouched"
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("point", BEFORE_THE_SCRIPT)
def test_killed_before_the_script_is_sent_the_record_is_open_until_it_says_not_done(kill, scene, verb, point, settle):
    kill(point)
    assert scene.became_of(verb) == "untouched"
    assert AuditEntry.objects.get().status == "intended"
    settle()
    assert AuditEntry.objects.get().status == "not_done"
    assert scene.became_of(verb) == "untouched"


@pytest.mark.parametrize("point", AFTER_THE_SCRIPT)
def test_killed_after_the_script_is_sent_all_is_done_and_the_record_is_open_until_it_says_so(
    kill, scene, verb, point, settle
):
    kill(point)
    wait_until(lambda: scene.became_of(verb) == "done", "the store reads what was sent")
    assert AuditEntry.objects.get().status == "intended"
    settle()
    assert AuditEntry.objects.get().status == "done"
    assert scene.became_of(verb) == "done"


def test_killed_after_the_record_is_closed_all_is_said_and_done(kill, scene, verb, settle):
    kill("after the entry is closed")
    outcome = AuditEntry.objects.get().outcome
    settle()
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.outcome) == ("done", outcome)
    assert scene.became_of(verb) == "done"
