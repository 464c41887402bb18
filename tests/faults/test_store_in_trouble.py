"""Trouble in the store in the middle of an act: it is known to be done or never will be, and nobody is told a lie."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from jobs import ledger
from jobs.actions import guarded, jobs
from jobs.broker import connections
from jobs.models import AuditEntry
from tests.faults.scene import JOBS, Scene, wish
from tests.faults.store import Store
from tests.faults.troubles import TROUBLES
from tests.support.real_rq import ROOT, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPTS = [path.read_text() for path in (ROOT / "jobs/broker/lua").glob("*.lua")]
NAMED = {name for script in SCRIPTS for name in re.findall(r"(?:call\(|\{)'([A-Z]+)'", script)}
READS = {"EXISTS", "HEXISTS", "HGET", "LLEN", "LPOS", "TIME", "TYPE", "XREVRANGE", "ZCOUNT", "ZSCORE"}
"""Those that an act which needs them sends before it writes."""
COMMANDS = sorted(NAMED - READS - {"PUBLISH"})
MAKE_ROOM = ("delete_job", "stop_job", "remove_entry")


@pytest.fixture
def store(furniture, tmp_path, settings, monkeypatch):
    """The one store that opsboard knows, which it does not wait for long."""
    store = Store(tmp_path / "store")
    monkeypatch.setattr(connections, "READ_SECONDS", 0.7)
    connections.reset()
    settings.OPSBOARD_CONNECTIONS = {"default": store.connection}
    yield store
    store.end()


@pytest.fixture
def scene(furniture, store, declared):
    scene = Scene(store.admin, furniture)
    yield scene
    scene.close()


@pytest.fixture
def ask(verb, operator, orders, scene, monkeypatch):
    """Ask for the act; `and_then` happens as soon as the intent is on record."""

    open_entry = ledger.open_entry

    def ask_for_it(and_then):
        def open_and_then(**details):
            entry = open_entry(**details)
            and_then()
            return entry

        monkeypatch.setattr(ledger, "open_entry", open_and_then)
        return getattr(jobs, verb)(wish(verb, operator, orders))

    return ask_for_it


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_it_is_done_or_it_never_will_be_and_the_person_is_told_no_lie(
    trouble, verb, store, scene, ask, settle, monkeypatch
):
    if trouble.deadline:
        monkeypatch.setattr(guarded, "DEADLINE", trouble.deadline)
    outcome = ask(lambda: trouble.begin(store))
    if trouble.deadline:
        wait_until(lambda: datetime.now(UTC) > outcome.entry.deadline_at, "the deadline is over")
    trouble.end(store)
    is_spared = trouble.spares_room and verb in MAKE_ROOM
    became = scene.became_of(verb)
    assert became in (("done",) if is_spared else trouble.leaves)
    assert outcome.status in (("done",) if is_spared else trouble.says)
    if not outcome.is_unknown:
        assert outcome.is_done == (became == "done")
    settle()
    assert AuditEntry.objects.get().status == ("done" if became == "done" else "not_done")
    assert scene.became_of(verb) == became


def test_an_account_that_lacks_one_command_does_nothing_by_halves(verb, store, scene, ask):
    """Redis asks for the rights command by command, and what a script wrote before it was refused would stay."""
    for command in COMMANDS:
        outcome = ask(lambda command=command: store.change_actor(f"-{command}"))
        assert (outcome.status, scene.became_of(verb)) == ("not_done", "untouched"), command
        store.change_actor(f"+{command}")
    assert ask(lambda: None).is_done


@pytest.mark.parametrize("verb", ["stop_job"], indirect=True)
def test_an_account_that_may_not_tell_the_worker_leaves_no_mark(verb, store, scene, ask):
    outcome = ask(lambda: store.change_actor("-publish"))
    assert (outcome.status, scene.became_of(verb)) == ("not_done", "untouched")


@pytest.mark.parametrize("verb", [verb for verb in JOBS if verb != "stop_job"], indirect=True)
def test_a_store_that_lost_power_while_it_wrote_has_all_of_an_act_or_nothing(verb, store, scene, ask):
    """What the last second before a power loss wrote may be lost, but never the half of an act."""
    assert ask(lambda: None).is_done
    store.kill()
    store.tear_its_file()
    store.restart()
    assert scene.became_of(verb) == "untouched"
