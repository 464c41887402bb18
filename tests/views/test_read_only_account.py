"""The accounts of deploy/redis-acl.conf are enough: one for every page, which changes nothing, and one for the acts."""

from __future__ import annotations

import re
from itertools import product

import pytest
from django.urls import reverse
from django.utils import timezone
from redis import Redis, exceptions

from jobs.broker import connections
from jobs.broker.keys import STATES
from jobs.models import AuditEntry, JobType
from jobs.urls import urlpatterns
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.support.keyspace import load, snapshot
from tests.support.minefield import JOBS
from tests.support.observer import watch
from tests.support.pages import Page, at, confirm, without_tokens
from tests.support.real_rq import ROOT
from tests.views.conftest import beat

pytestmark = pytest.mark.django_db

ACTS = {
    "requeued": at("job-retry", "orders", "4711"),
    "enqueued": at("job-enqueue", "orders", "later-1"),
    "canceled": at("job-cancel", "orders", "next-1"),
    "stop asked for": at("job-stop", "orders", "slow-1"),
    "deleted": at("job-delete", "orders", "4711"),
    "removed": at("job-remove-entry", "orders", "ghost"),
}
"""By the mark that each leaves."""
BATCH = "00000000-0000-4000-8000-000000000001"
CHOICES = {
    "connection": ["default"],
    "queue": ["orders"],
    "state": STATES,
    "path": ["fx.boom"],
    "batch": [BATCH],
    "review_id": [1],
    "operation_id": ["rq:default:4711", "rq:default:nowhere"],
}
QUERIES = {"failed": ["", "?queue=orders"], "lookup": ["", "?q=4711", "?q=nowhere"]}
SHOP_JOBS = ["4711", "4713", "slow-1", "held-1", "nowhere"]
HANDSHAKE = {"client|setinfo"}
"""Refused to both accounts, as the file says: the client does without."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that takes in the file as it ships, passwords aside."""
    file = (ROOT / "deploy/redis-acl.conf").read_text().replace("CHANGE-ME", "secret")
    users = re.findall(r"^user .*$", file, re.MULTILINE)
    embedded = EmbeddedValkey(folder=tmp_path_factory.mktemp("acl"), port=free_port(), users=users)
    process = embedded.start()
    yield embedded
    process.kill()
    process.wait(10)


@pytest.fixture
def admin(server):
    """The account that may do everything, on an empty server."""
    with Redis.from_url(server.url) as client:
        client.flushall()
        client.acl_log_reset()
        yield client


@pytest.fixture
def use(server, settings):
    """Point the product at the server with these accounts; "" is the one that may do everything."""

    def accounts(*, acting, reading):
        urls = {name: server.url_for(name, "secret") if name else server.url for name in (acting, reading)}
        settings.OPSBOARD_CONNECTIONS = {"default": {"url": urls[acting], "read_url": urls[reading]}}
        connections.reset()

    yield accounts
    connections.reset()


@pytest.fixture
def stop_the_clock(monkeypatch):
    """Two answers that are given at one moment can be compared byte by byte."""
    tell = timezone.now

    def stop():
        now = tell()
        monkeypatch.setattr(timezone, "now", lambda: now)

    return stop


@pytest.fixture
def browser(orders, payroll, superuser, browser_of):
    """Sees everything there is."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    return browser_of("superuser", watched=False)


def refused(admin):
    """What the server has refused to any account, the handshake aside."""
    return [entry for entry in admin.acl_log() if entry["object"] not in HANDSHAKE]


def addresses(job_ids):
    choices = CHOICES | {"job_id": job_ids}
    for pattern in urlpatterns:
        names = list(pattern.pattern.converters)
        for values in product(*(choices[name] for name in names)):
            address = reverse(f"jobs:{pattern.name}", kwargs=dict(zip(names, values, strict=True)))
            yield from (address + query for query in QUERIES.get(pattern.name, [""]))


def page(browser, address):
    """An answer, without what differs each time."""
    answer = browser.get(address)
    return answer.status_code, answer.headers.get("Location"), without_tokens(answer.text)


@pytest.mark.parametrize("store", ["shop", "minefield"])
@pytest.mark.parametrize("rq_version", ["3.0"])
def test_every_page_answers_the_reader_as_it_answers_the_full_account(
    _shop, _mines, rq_version, admin, use, stop_the_clock, browser, store
):
    dumped = _shop if store == "shop" else _mines(rq_version)
    # For ever: what is left of a time to live is told by Redis's clock, which goes on.
    load(admin, {key: (0, value) for key, (_ttl, value) in dumped.items()})
    use(acting="opsboard-reader", reading="opsboard-reader")
    watch()
    for address in addresses(JOBS if store == "minefield" else SHOP_JOBS):
        stop_the_clock()
        use(acting="", reading="")
        full = page(browser, address)
        use(acting="opsboard-reader", reading="opsboard-reader")
        assert page(browser, address) == full, address
        assert full[0] < 500, address
    assert refused(admin) == []


def test_the_reader_can_change_nothing(server, admin, _shop):
    load(admin, _shop)
    before = snapshot(admin)
    with Redis.from_url(server.url_for("opsboard-reader", "secret")) as client:
        for command in ("SET rq:a 1", "DEL rq:job:4711", "ZREM rq:failed:orders 4711", "EVAL return 0", "FLUSHALL"):
            with pytest.raises(exceptions.NoPermissionError):
                client.execute_command(*command.split(" "))
    assert snapshot(admin) == before
    assert [entry["username"] for entry in refused(admin)] == ["opsboard-reader"] * 5


@pytest.fixture
def place(admin, _shop):
    """The shop, with an id that is only listed and a worker that listens."""
    load(admin, _shop)
    beat(admin)
    admin.zadd("rq:failed:orders", {"ghost": 9e9})
    with admin.pubsub() as ear:
        ear.subscribe("rq:pubsub:packer")
        assert ear.get_message(timeout=10)
        yield ear


@pytest.mark.parametrize("mark", ACTS)
def test_acts_go_through_the_acting_account(admin, use, place, browser, mark):
    use(acting="opsboard-actor", reading="opsboard-reader")
    answer = confirm(browser, ACTS[mark])
    entry = AuditEntry.objects.get()
    assert (answer.status_code, entry.status) == (302, "done")
    assert admin.get(f"opsboard:act:{entry.id}") == mark.encode()
    assert (place.get_message(timeout=0.1) is not None) is (mark == "stop asked for")
    assert refused(admin) == []


@pytest.mark.parametrize("mark", ACTS)
def test_the_reader_in_the_place_of_the_acting_account_does_nothing_and_says_so(admin, use, place, browser, mark):
    use(acting="opsboard-reader", reading="opsboard-reader")
    before = snapshot(admin)
    answer = confirm(browser, ACTS[mark])
    assert (answer.status_code, AuditEntry.objects.get().status) == (503, "not_done")
    assert "the job store takes no writes now" in Page(answer).text
    assert snapshot(admin) == before and place.get_message(timeout=0.1) is None
    assert {entry["object"] for entry in refused(admin)} == {"eval"}
