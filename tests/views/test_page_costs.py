"""What a page costs, through the whole view: commands and round trips to Redis, queries to SQL, bytes of answer."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from guardian.shortcuts import assign_perm
from redis import Redis

from jobs.broker import connections
from jobs.broker.cursors import Cursor
from jobs.broker.hashes import STATE_FIELDS, job_hash
from jobs.broker.keys import REGISTRIES
from jobs.models import AuditEntry, JobType, Queue
from jobs.selectors.failure_index import Place
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.support.failures import failure, failures
from tests.support.keyspace import dump, load
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db

SIZES = [1_000, 100_000]
"""Failed jobs in all; each size has a database of its own, by its place here."""
SHARES = {"orders": 0.6, "mail": 0.2, "stock": 0.2}
STATE_LIST = at("queue-state", "orders", "failed") + "?"
LISTS = {
    "one queue": at("failed") + "?queue=orders&",
    "all queues": at("failed") + "?",
    "narrowed": at("failed") + "?type=fx.long_message&error=ValueError&since=2026-01-01&show=all&",
}
FILL = """
for number = tonumber(ARGV[2]), tonumber(ARGV[3]) do
    local id = string.format('%08x-9a1b-4c2d-8e3f-%012x', number, number)
    redis.call('COPY', 'rq:job:' .. ARGV[1], 'rq:job:' .. id)
    redis.call('COPY', 'rq:results:' .. ARGV[1], 'rq:results:' .. id)
    redis.call('ZADD', 'rq:failed:' .. ARGV[1], 1900000000 + number % 1000, id)
end
"""
"""Copies of a real failure. RQ rounds scores to the second, so many share one."""


@pytest.fixture(scope="module")
def models(valkey, _interpreters):
    """One real failed job per queue, with its stream; the job's id is the queue's name."""
    with Redis.from_url(valkey.url) as client:
        client.flushall()
        rq = _interpreters("3.0")
        for queue in SHARES:
            rq.enqueue("fx.long_message", 4711, 100, "no ", queue=queue, job_id=queue)
        rq.burst(*SHARES)
        found = {key: value for key, value in dump(client).items() if b"worker" not in key and b"failed" not in key}
        client.flushall()
    return found


@pytest.fixture(scope="module")
def big(models, tmp_path_factory):
    """A server of its own, for filling it takes seconds and every other test empties the common one."""
    server = EmbeddedValkey(folder=tmp_path_factory.mktemp("big"), port=free_port())
    process = server.start()
    for database, size in enumerate(SIZES):
        with Redis.from_url(server.url_for(database=database)) as client:
            load(client, models)
            fill(client, size)
    yield server
    process.kill()
    process.wait(10)


def fill(client, size):
    begin = 0
    for queue, share in SHARES.items():
        end = begin + int(size * share)
        for first in range(begin, end, 10_000):
            client.eval(FILL, 0, queue, first, min(first + 10_000, end) - 1)
        client.zrem(f"rq:failed:{queue}", queue)
        begin = end


@dataclass
class Store:
    """A filled database: its address, and a client for looking and counting."""

    url: str
    client: Redis
    size: int

    def place(self, rank):
        """The cursor of the row at this rank of orders."""
        ((member, score),) = self.client.zrevrange("rq:failed:orders", rank, rank, withscores=True)
        return Cursor(score=score, queue="orders", member=member, rank=rank).encode()

    @property
    def turns(self):
        """Places in the list, as they stand in the links that turn its pages."""
        total = self.client.zcard("rq:failed:orders")
        return {
            "first": "",
            "second": f"after={self.place(49)}",
            "middle": f"after={self.place(total // 2)}",
            "last": f"after={self.place(total - 51)}",
            "back from the middle": f"before={self.place(total // 2)}",
            "back to the first": f"before={self.place(50)}",
        }


@pytest.fixture
def store_of(big, settings):
    """Has the pages look at the store of this size."""

    def store(size):
        url = big.url_for(database=SIZES.index(size))
        settings.OPSBOARD_CONNECTIONS = {"default": {"url": url}}
        connections.reset()
        return Store(url, Redis.from_url(url), size)

    return store


@pytest.fixture(params=SIZES, ids=str)
def store(request, store_of):
    found = store_of(request.param)
    yield found
    found.client.close()


@pytest.fixture
def clerk(orders, viewer):
    """Sees three queues, all of those that there are."""
    for name in ("mail", "stock"):
        assign_perm("view_queue", viewer, Queue.objects.create(connection="default", name=name))
    return viewer


@pytest.fixture(params=["viewer", "superuser"])
def browser(request, clerk, browser_of):
    return browser_of(request.param, watched=False)


def opened(browser, address, client):
    """The page, with what its opening cost."""
    with count_traffic(client) as traffic:
        answer = browser.get(address)
    assert answer.status_code == 200
    return answer, traffic


TURNS = ["first", "second", "middle", "last", "back from the middle", "back to the first"]


@pytest.mark.parametrize("turn", TURNS)
def test_fifty_jobs_as_rq_lists_them_cost_three_round_trips_and_sixty_commands(store, browser, turn):
    answer, traffic = opened(browser, STATE_LIST + store.turns[turn], store.client)
    assert len(Page(answer).rows()) == 50
    assert traffic.round_trips <= 3
    assert traffic.commands <= 60, traffic.by_command


def test_fifty_jobs_as_rq_lists_them_weigh_eighty_kilobytes_at_most(store, browser):
    """Everything around the rows included. A row has its icons, names for screen readers and times for machines."""
    for turn in ("first", "middle"):
        assert len(browser.get(STATE_LIST + store.turns[turn]).content) <= 80_000


# The failed list, which is found in SQL -------------------------------------------------------------------------------


@pytest.fixture
def small_store(store_of):
    """Redis is asked for the rows that are shown and nothing else, whatever it holds."""
    found = store_of(SIZES[0])
    yield found
    found.client.close()


@pytest.fixture
def indexed(small_store, clerk):
    """Two hundred jobs of orders and a hundred of mail, as the observer would have them; the places of the former."""
    rows = [as_recorded(small_store.client, number, "orders") for number in range(400, 600)]
    failures(*(as_recorded(small_store.client, number, "mail") for number in range(100)))
    return [Place(row.failed_at, row.pk).encode() for row in reversed(failures(*rows))]


def as_recorded(client, number, queue):
    (job_id,) = client.zrange(f"rq:failed:{queue}", number, number)
    job = job_hash(job_id.decode(), STATE_FIELDS, client.hmget(b"rq:job:" + job_id, STATE_FIELDS), payload_bytes=0)
    times = {name: getattr(job, name) for name in ("created_at", "enqueued_at", "started_at", "ended_at")}
    return failure(
        queue,
        job_id=job.job_id,
        job_type="fx.long_message",
        error_line="ValueError: no no no no",
        ids=[["#1", "4711", "number", True]],
        seen="1795989144108-0",
        **times,
    )


PLACES = {
    "first": "",
    "second": "after={0[49]}",
    "middle": "after={0[100]}",
    "last": "after={0[148]}",
    "back from the middle": "before={0[100]}",
    "back to the first": "before={0[50]}",
}


@pytest.mark.parametrize("which", LISTS)
def test_fifty_failed_jobs_cost_one_round_trip_and_fifty_two_commands(indexed, small_store, browser, which):
    for turn in PLACES.values():
        answer, traffic = opened(browser, LISTS[which] + turn.format(indexed), small_store.client)
        page = Page(answer)
        assert len(page.rows()) == 50 and "failed again" not in page.text
        assert traffic.round_trips == 1
        assert traffic.commands <= 52, traffic.by_command


@pytest.mark.parametrize("which", LISTS)
def test_fifty_failed_jobs_weigh_seventy_kilobytes_at_most(indexed, browser, which):
    assert len(browser.get(LISTS[which]).content) <= 70_000


def test_a_list_without_rows_costs_no_round_trip(small_store, clerk, browser_of):
    answer, traffic = opened(browser_of("viewer", watched=False), at("failed"), small_store.client)
    assert (Page(answer).rows(), traffic.round_trips) == ([], 0)


@pytest.mark.parametrize("role", ["viewer", "superuser"])
def test_further_queues_cost_no_query(indexed, clerk, browser_of, role):
    browser, taken = browser_of(role, watched=False), []
    browser.get(at("failed"))
    for number in range(2):
        with CaptureQueriesContext(connection) as queries:
            browser.get(at("failed"))
        taken.append(len(queries))
        assign_perm("view_queue", clerk, Queue.objects.create(connection="default", name=f"more-{number}"))
        failures(failure(f"more-{number}"))
    assert taken[0] == taken[1]


# Every page -----------------------------------------------------------------------------------------------------------


COSTS = {
    at("overview"): 3,
    at("queues"): 3,
    at("workers"): 3,
    at("job", "orders", "4711"): 2,
    at("job", "orders", "slow-1"): 2,
    at("job-retry", "orders", "4711"): 2,
    at("job-enqueue", "orders", "later-1"): 2,
    at("job-cancel", "orders", "next-1"): 2,
    at("job-stop", "orders", "slow-1"): 2,
    at("job-delete", "orders", "4711"): 2,
    at("job-remove-entry", "orders", "ghost"): 2,
    at("lookup") + "?q=nowhere": 1,
    at("access"): 1,
    at("job-types"): 3,
    **{at("queue-state", "orders", state): 3 if state == "failed" else 2 for state in ("queued", *REGISTRIES)},
}
"""Round trips at most. The overview shows five queues."""


@pytest.fixture
def five_queues(shop, orders, payroll, superuser):
    for name in ("mail", "stock", "reports"):
        Queue.objects.create(connection="default", name=name)
        shop.sadd("rq:queues", f"rq:queue:{name}")
    shop.zadd("rq:failed:orders", {"ghost": 9e9})
    return shop


@pytest.mark.parametrize("address", COSTS)
def test_a_page_costs_so_many_round_trips_at_most(five_queues, browser_of, address):
    browser = browser_of("superuser")
    _answer, traffic = opened(browser, address, five_queues)
    assert traffic.round_trips <= COSTS[address]


def test_the_overview_of_five_queues_shows_them_all(five_queues, browser_of):
    assert len(Page(browser_of("superuser").get(at("overview"))).rows()) == 5


# Queries to SQL -------------------------------------------------------------------------------------------------------


def more_jobs(client, number):
    """Copies of a failed job on every list of orders, each with a queue and a worker beside it; and results of one."""
    for row in range(number):
        client.copy("rq:job:4711", f"rq:job:more-{row}")
        client.copy("rq:results:4711", f"rq:results:more-{row}")
        client.sadd("rq:queues", f"rq:queue:more-{row}")
        client.rpush("rq:queue:orders", f"more-{row}")
        client.zadd("rq:wip:orders", {f"more-{row}:run": 9e9})
        for registry in set(REGISTRIES.values()) - {"wip"}:
            client.zadd(f"rq:{registry}:orders", {f"more-{row}": 9e9})
        client.sadd("rq:job:4711:dependents", f"more-{row}")
        client.hset(f"rq:worker:more-{row}", mapping={"birth": "2026-01-01T00:00:00Z", "queues": "orders"})
        client.sadd("rq:workers", f"rq:worker:more-{row}")
        client.xadd("rq:results:4711", {"type": 2}, id="*")


def more_records(actor, number):
    """Queues that everybody here may see, declared types, and acts of one person on one job."""
    for row in range(number):
        queue = Queue.objects.create(connection="default", name=f"more-{row}")
        assign_perm("view_queue", actor, queue)
        JobType.objects.create(path=f"more.tasks_{row}", declared_by=actor)
        for verb, subject in (("retry_job", "4711"), ("declare_job_type", "fx.boom")):
            where = {"connection": "default", "queue": "orders", "subject": subject, "created_at": timezone.now()}
            AuditEntry.objects.create(actor=actor, actor_name=actor.username, verb=verb, **where)


PAGES = [address for address in COSTS if not {"slow-1", "ghost", "lookup"}.intersection(address.split("/"))]
PAGES += [at("failed"), at("failed") + "?queue=orders", "/job-types/fx.boom/"]


@pytest.mark.parametrize("address", PAGES)
def test_fifty_rows_take_as_many_queries_as_one(shop, lead, browser_of, address):
    browser, taken = browser_of("lead", watched=False), []
    # Django remembers the content types that it has asked for once.
    browser.get(address)
    for number in (1, 50):
        more_jobs(shop, number)
        JobType.objects.all().delete()
        Queue.objects.exclude(name="orders").delete()
        more_records(lead, number)
        if address.startswith(at("failed")):
            watch()
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(address).status_code == 200
        taken.append(len(queries))
    assert taken[0] == taken[1], [one["sql"][:120] for one in queries]
