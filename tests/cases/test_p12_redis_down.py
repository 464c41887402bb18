"""P12: Redis is down, silent, or refuses the password. It is one of the tests' own, which they may stop."""

from __future__ import annotations

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connections as databases
from django.utils import timezone
from redis import Redis

from jobs.broker import commands, connections
from jobs.domain.watch import WatchReport
from jobs.domain.words import ACT_SLUGS
from jobs.models import AuditEntry, JobType, ObserverState
from opsboard.runner.valkey import DURABLE, EmbeddedValkey, free_port
from tests.conftest import PASSWORD
from tests.faults.scene import JOBS, Scene, furnish
from tests.support.keyspace import dump, load
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

STATES = ["stopped", "silent", "refusing"]
SECONDS = 5
"""A promise, so without a margin; the process is warm."""
KEY = "f1rst-Passw0rd"
RETRY = at("job-retry", "orders", "p12")
PAGES = {
    "overview": at("overview"),
    "failed": at("failed"),
    "failed of a queue": at("failed") + "?queue=orders",
    "queues": at("queues"),
    "waiting": at("queue-state", "orders", "queued"),
    "failed in its queue": at("queue-state", "orders", "failed"),
    "job": at("job", "orders", "p12"),
    "confirmation": at("job-delete", "orders", "p12"),
    "workers": at("workers"),
    "lookup": at("lookup") + "?q=nobody",
}


class Store:
    """A private Valkey that can be put into each of the three states, and brought back with its data."""

    def __init__(self, folder):
        self.server = EmbeddedValkey(folder=folder, port=free_port(), password=KEY, settings=DURABLE)
        self.process = self.server.start()
        self.admin = Redis.from_url(self.server.url)
        self.state = ""

    @contextmanager
    def being(self, state):
        self.state = state
        self._leave() if state == "stopped" else self._freeze() if state == "silent" else self._lock("another")
        yield
        self.bring_back()

    def bring_back(self):
        if self.state == "stopped":
            self.process = self.server.start()
        elif self.state == "silent":
            self.process.send_signal(signal.SIGCONT)
        elif self.state == "refusing":
            self._lock(KEY)
        self.state = ""

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(10)

    def _leave(self):
        self.process.terminate()
        self.process.wait(10)

    def _freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def _lock(self, password):
        self.admin.config_set("requirepass", password)
        self.admin.client_kill_filter(_type="normal", skipme=True)


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def store(lay_once, redis_client, tmp_path, settings):
    """With one failed job that could be retried."""
    store = Store(tmp_path / "store")
    try:
        lay_once(lay)
        load(store.admin, dump(redis_client))
        settings.OPSBOARD_CONNECTIONS = {"default": connection_to(store.server.url)}
        connections.reset()
        yield store
    finally:
        store.end()


def lay(rq, redis):
    rq.fail("fx.boom", 7, job_id="p12")


@pytest.fixture
def browser(store, operator, sign_in):
    """On warm connections: every page was open once."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    watch()
    browser = sign_in(operator, watched=False)
    assert {browser.get(address).status_code for address in PAGES.values()} == {200}
    return browser


def connection_to(url):
    return {"url": url, "read_url": None, "prefix": "rq"}


def in_time(ask, *arguments, **options):
    began = time.monotonic()
    answer = ask(*arguments, **options)
    assert time.monotonic() - began < SECONDS
    return answer


def says_nothing_of(store, text):
    port = str(store.server.port)
    secrets = [KEY, "another", "127.0.0.1", f":{port}", "redis://", "Traceback", "redis.exceptions", "/jobs/broker"]
    return not [secret for secret in secrets if secret in text]


def is_untouched(store):
    failed, queued = store.admin.zrange("rq:failed:orders", 0, -1), store.admin.llen("rq:queue:orders")
    return (failed, queued, store.admin.hget("rq:job:p12", "status")) == ([b"p12"], 0, b"failed")


@pytest.mark.parametrize("state", STATES)
def test_p12_every_page_answers_503_in_time_and_tells_no_secret(store, browser, state, caplog):
    def open_page(address):
        try:
            return in_time(browser.get, address)
        finally:
            databases.close_all()

    # A few at a time: of a silent store each waits for its time to be over.
    with store.being(state), ThreadPoolExecutor(5) as people:
        for name, answer in zip(PAGES, people.map(open_page, PAGES.values()), strict=True):
            assert answer.status_code == 503, name
            html = answer.content.decode()
            assert "job store" in Page(html).text, name
            assert says_nothing_of(store, html + repr(answer.headers)), name
    assert says_nothing_of(store, caplog.text)


@pytest.mark.parametrize("state", STATES)
def test_p12_a_page_that_refreshes_itself_gets_503_in_time(store, browser, state):
    with store.being(state):
        answer = in_time(browser.get, at("failed"), headers={"hx-request": "true"})
        assert answer.status_code == 503
        assert says_nothing_of(store, answer.content.decode())


@pytest.mark.parametrize("state", STATES)
def test_p12_no_number_is_shown_when_none_could_be_read(store, browser, state):
    with store.being(state):
        for name in ("overview", "queues", "lookup"):
            page = Page(in_time(browser.get, at(name), {"q": "nobody"}))
            assert "orders" not in page.rows()
            assert "Nothing has failed" not in page.text and "No job with this id" not in page.text


@pytest.mark.parametrize("state", STATES)
def test_p12_the_failed_list_shows_what_was_recorded_as_that_and_lets_nothing_be_ticked(store, browser, state):
    ObserverState.objects.create(report={"default": WatchReport(passed_at=timezone.now()).to_json()})
    with store.being(state):
        page = Page(in_time(browser.get, at("failed")))
        assert page.rows() == ["orders:p12"] and "ValueError: boom 7" in page.text
        assert re.search(
            r"The job store does not answer: .* What is shown is as recorded at \d\d:\d\d:\d\d UTC", page.text
        )
        assert [one for one in page.elements if "is-stale" in one.attributes.get("class", "").split()]
        assert not [one for one in page.elements if one.attributes.get("name") == "row"]


@pytest.mark.parametrize("state", STATES)
def test_p12_signing_in_health_and_what_needs_no_store_still_work(store, browser, lead, client, sign_in, state):
    with store.being(state):
        assert in_time(client.get, at("login")).status_code == 200
        form = {"username": "otto", "password": PASSWORD}
        assert in_time(client.post, at("login"), form).status_code == 302
        assert in_time(client.get, at("healthz")).json() == {"status": "ok"}
        other = sign_in(lead)
        assert [in_time(other.get, at(name)).status_code for name in ("access", "job-types")] == [200, 200]
        assert in_time(client.post, at("logout")).status_code == 302


@pytest.mark.parametrize("state", STATES)
def test_p12_retry_says_not_done_and_stays_undone(store, browser, state):
    form = Page(browser.get(PAGES["job"])).form(RETRY)
    with store.being(state):
        answer = in_time(browser.post, RETRY, form.fields)
        assert answer.status_code == 503
        assert "Not done" in Page(answer).text
        assert says_nothing_of(store, answer.content.decode())
    assert AuditEntry.objects.get().outcome.startswith("Not done: ")
    assert is_untouched(store)


@pytest.mark.parametrize("state", STATES)
def test_p12_every_act_says_not_done_and_stays_undone(store, lay_once, redis_client, operator, sign_in, state):
    """Each act, on a job for which it would be carried out, from a page that was open before the trouble began."""
    redis_client.flushall()
    lay_once(furnish)
    scene = Scene(store.admin, dump(redis_client))
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    addresses = {verb: at(f"job-{ACT_SLUGS[verb]}", "orders", job_id) for verb, job_id in JOBS.items()}
    forms = {verb: Page(sign_in(operator).get(address)).form(address).fields for verb, address in addresses.items()}

    def press(verb):
        try:
            answer = in_time(sign_in(operator).post, addresses[verb], {**forms[verb], "typed": "boom"})
            return answer.status_code, "Not done" in Page(answer).text, says_nothing_of(store, answer.content.decode())
        finally:
            databases.close_all()

    with store.being(state), ThreadPoolExecutor(len(JOBS)) as people:
        answers = dict(zip(JOBS, people.map(press, JOBS), strict=True))
    assert answers == dict.fromkeys(JOBS, (503, True, True))
    entries = AuditEntry.objects.values_list("verb", "status")
    assert sorted(entries) == sorted((verb, "refused") for verb in JOBS)
    wait_until(store.admin.ping, "the store is back")
    assert {verb: scene.became_of(verb) for verb in JOBS} == dict.fromkeys(JOBS, "untouched")
    scene.close()


@pytest.mark.parametrize("state", STATES)
def test_p12_after_it_is_back_the_pages_are_too_and_nothing_was_queued(store, browser, state):
    with store.being(state):
        in_time(browser.get, at("overview"))
    wait_until(lambda: browser.get(at("overview")).status_code == 200, "the overview is back")
    assert {browser.get(address).status_code for address in PAGES.values()} == {200}
    assert is_untouched(store)


def test_p12_a_retry_that_was_sent_to_a_silent_store_is_called_off_when_it_wakes(store, browser, monkeypatch):
    """The worst moment: the script lies in the store's socket, and is read long after everybody went away."""
    form, send = Page(browser.get(PAGES["job"])).form(RETRY), commands.requeue_failed

    def freeze_first(target, **options):
        store.state = "silent"
        store._freeze()
        return send(target, **options)

    monkeypatch.setattr(commands, "requeue_failed", freeze_first)
    answer = in_time(browser.post, RETRY, form.fields)
    assert (answer.status_code, AuditEntry.objects.get().status) == (503, "intended")
    assert "Not known yet" in Page(answer).text
    deadline = AuditEntry.objects.get().deadline_at.timestamp()
    wait_until(lambda: time.time() > deadline, "the deadline is over")
    store.bring_back()
    assert store.admin.ping() and is_untouched(store)


@pytest.mark.parametrize("state", STATES)
def test_p12_a_store_beside_it_is_still_shown(store, redis_client, valkey, superuser, sign_in, settings, state):
    redis_client.sadd("rq:queues", "rq:queue:beside")
    connections.reset()
    settings.OPSBOARD_CONNECTIONS = {"a": connection_to(store.server.url), "b": connection_to(valkey.url)}
    browser = sign_in(superuser)
    with store.being(state):
        answer = in_time(browser.get, at("overview"))
        assert answer.status_code == 200 and "beside" in Page(answer).text
        assert "The job store “a” can't be reached" in Page(answer).text


@pytest.mark.parametrize("name", ["overview", "queues", "workers", "lookup", "access"])
def test_p12_several_silent_stores_cost_no_more_time_than_one(store, superuser, sign_in, settings, name):
    browser = sign_in(superuser)
    connections.reset()
    settings.OPSBOARD_CONNECTIONS = {one: connection_to(store.server.url) for one in "abcd"}
    assert browser.get(at(name), {"q": "p12"}).status_code in (200, 302)
    with store.being("silent"):
        answer = in_time(browser.get, at(name), {"q": "p12"})
        assert answer.status_code == (200 if name == "access" else 503)
