"""SIGKILL of the process that acts, between any two steps: no job is lost or doubled, and its record is true."""

from __future__ import annotations

import signal

import pytest

from jobs.broker import commands
from jobs.models import AuditEntry
from tests.faults.mortal import POINTS
from tests.faults.scene import Scene, wish

pytestmark = pytest.mark.django_db(transaction=True)

WITHOUT_A_TRACE = POINTS[: POINTS.index("after the intent is committed")]
BEFORE_THE_SCRIPT = ("after the intent is committed", "before the script is sent")
AFTER_THE_SCRIPT = ("after the script is sent", "after the answer is read")


@pytest.fixture
def scene(redis_client, furniture, declared):
    return Scene(redis_client, furniture)


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
def test_killed_before_the_script_is_sent_the_record_is_open_and_nothing_is_done(kill, scene, verb, point):
    kill(point)
    assert scene.became_of(verb) == "untouched"
    assert AuditEntry.objects.get().status == "intended"


@pytest.mark.parametrize("point", AFTER_THE_SCRIPT)
def test_killed_after_the_script_is_sent_all_is_done_and_the_record_is_open(kill, scene, verb, point):
    kill(point)
    assert scene.became_of(verb) == "done"
    entry = AuditEntry.objects.get()
    assert entry.status == "intended"
    assert commands.was_carried_out("default", str(entry.id))


def test_killed_after_the_record_is_closed_all_is_said_and_done(kill, scene, verb):
    kill("after the entry is closed")
    assert scene.became_of(verb) == "done"
    assert AuditEntry.objects.get().status == "done"
