"""P12: Redis is down, silent, or refuses the password, while somebody asks for an export and looks at earlier ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from redis import Redis
from rq import Queue, SimpleWorker

from exports.models import Export
from exports.states import ExportState, state_of
from exports.tasks import build_export, mail_export
from jobs.broker import connections
from jobs.broker.deliveries import declared_by
from jobs.observer.operations import deliver
from tests.cases.test_p12_redis_down import STATES, Store, connection_to, in_time, says_nothing_of
from tests.exports.laid import CONTENT, lay_export, lay_ready
from tests.exports.shop import a_person
from tests.support.pages import Page
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

HERE = "/exports/"
WISH = {"period": "2025", "order_status": ""}


@pytest.fixture
def store(tmp_path, settings, monkeypatch):
    """What the exports' jobs are queued on, too."""
    store = Store(tmp_path / "store")
    try:
        settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
        settings.OPSBOARD_CONNECTIONS = {"default": connection_to(store.server.url)}
        connections.reset()
        for task in (build_export, mail_export):
            queue = declared_by(task.delay).queue
            monkeypatch.setattr(queue, "connection", Redis.from_url(store.server.url))
        yield store
    finally:
        store.end()


@pytest.fixture
def owner(db):
    return a_person("clara")


@pytest.fixture
def browser(store, owner, sign_in):
    """On warm connections, as far as there are any: the list was open before."""
    browser = sign_in(owner, watched=False)
    assert browser.get(HERE).status_code == 200
    return browser


def queued(store) -> list[str]:
    return Queue("exports", connection=store.admin).get_job_ids()


def observe(store) -> None:
    """What the observer does once the store is back, twice over."""
    wait_until(store.admin.ping, "the store is back")
    later = timezone.now() + timedelta(minutes=2)
    for _first_and_second in range(2):
        deliver("default", later)


@pytest.mark.parametrize("state", STATES)
def test_p12_the_cabinet_works_as_ever_and_tells_no_secret(store, browser, owner, state):
    running, ready = lay_export(owner, "running", done=1, total=2), lay_ready(owner)
    addresses = [HERE, f"{HERE}{running.pk}/", f"{HERE}{ready.pk}/"]
    with store.being(state):
        for address, headers in [(one, {}) for one in addresses] + [(one, {"hx-request": "true"}) for one in addresses]:
            answer = in_time(browser.get, address, headers=headers)
            assert answer.status_code == 200, address
            assert says_nothing_of(store, answer.text + repr(answer.headers)), address
        assert b"".join(in_time(browser.get, f"{HERE}{ready.pk}/file/")) == CONTENT.encode()


@pytest.mark.parametrize("state", STATES)
def test_p12_a_wish_is_accepted_in_time_and_queued_once_when_the_store_is_back(store, browser, state, caplog):
    with store.being(state):
        answer = in_time(browser.post, HERE, WISH, content_type="application/json")
        assert (answer.status_code, answer.json()["status"]) == (202, "accepted")
        assert says_nothing_of(store, answer.text + repr(answer.headers))
        again = in_time(browser.post, HERE, WISH, content_type="application/json")
        assert (again.status_code, again.json()["id"]) == (202, answer.json()["id"])
    assert says_nothing_of(store, caplog.text)
    observe(store)
    export = Export.objects.select_related("operation").get()
    assert queued(store) == [export.operation.job_id]


@pytest.mark.parametrize("state", STATES)
def test_p12_a_person_gets_the_same_and_in_the_end_the_file(store, browser, state):
    form = Page(browser.get(HERE)).form(HERE)
    with store.being(state):
        assert in_time(browser.post, HERE, {**form.fields, **WISH}).status_code == 303
        assert "Accepted." in Page(in_time(browser.get, HERE)).text
    observe(store)
    queues = [Queue(name, connection=store.admin) for name in ("exports", "mail")]
    SimpleWorker(queues, connection=store.admin).work(burst=True)
    export = Export.objects.select_related("operation").get()
    assert state_of(export, timezone.now()) is ExportState.READY
    assert export.operation.attempts_used == 1
    assert browser.get(f"{HERE}{export.pk}/file/").getvalue().startswith(b'\xef\xbb\xbf"number"')
