"""P11: odd ids and odd queue names from older producers. RQ 3 refuses such ids at enqueue, but reads them."""

from __future__ import annotations

import pytest
from guardian.shortcuts import assign_perm

from jobs.domain.words import ACT_SLUGS
from jobs.models import NAME_LENGTH, AuditEntry, JobType, Queue
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, confirm, press

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rq_version():
    """One is enough: tests/broker reads what both have written, and from there on it is the same."""
    return "3.0"


LONG = "order-" * 50
TOO_LONG = "order-" * 100
IDS = ["order/42", "order%2F42", "order 42", "order.42", "$x", "../../admin", "a?b#c", "bestellung-ü", LONG, ".", "~2F"]
ACTS = [f"job-{word}" for word in ACT_SLUGS.values()]
QUEUES = ["mail/eu", "a b", "q?x=1#f", "ünï", "<b>x</b>", "../etc"]


@pytest.fixture
def odd_ids(lay_once):
    """A real failure copied by hand to each id, each with an argument list and a time of its own."""
    lay_once(lay_ids)
    JobType.objects.create(path="fx.boom", idempotency="repeatable")


def lay_ids(rq, redis):
    rq.fail("fx.boom", 7, job_id="plain")
    for number, job_id in enumerate(IDS):
        redis.copy("rq:job:plain", f"rq:job:{job_id}")
        redis.copy("rq:results:plain", f"rq:results:{job_id}")
        redis.hset(f"rq:job:{job_id}", "worker_name", f"worker-{number}")
        redis.zadd("rq:failed:orders", {job_id: 9999999999 + number})


def lay_queues(rq, redis):
    for number, queue in enumerate(QUEUES):
        rq.enqueue("fx.boom", number, queue=queue, job_id=f"job-{number}")
    rq.burst(*QUEUES)


@pytest.fixture
def odd_queues(lay_once, db):
    lay_once(lay_queues)
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    return [Queue.objects.create(connection="default", name=queue) for queue in QUEUES]


def links_to_jobs(page):
    return [link for link in page.links if link.startswith("/jobs/")]


@pytest.mark.parametrize("address", [at("failed"), at("queue-state", "orders", "failed")])
def test_p11_every_row_is_listed(odd_ids, operator, sign_in, address):
    page = Page(sign_in(operator).get(address))
    assert {key.removeprefix("orders:") for key in page.rows()} == {*IDS, "plain"}
    assert all(job_id in page.text for job_id in IDS)


def test_p11_each_link_leads_to_exactly_that_job(odd_ids, operator, sign_in):
    browser = sign_in(operator)
    links = links_to_jobs(Page(browser.get(at("failed"))))
    assert len(links) == len(set(links)) == len(IDS) + 1
    found = set()
    for link in links:
        page = Page(browser.get(link))
        (job_id,) = [one for one in [*IDS, "plain"] if page.title.startswith(f"fx.boom {one} ")]
        assert job_id == "plain" or f"worker-{IDS.index(job_id)} " in page.text
        found.add(job_id)
    assert found == {*IDS, "plain"}


def test_p11_a_slash_and_an_escaped_slash_are_two_jobs(odd_ids, operator, sign_in):
    browser = sign_in(operator)
    pages = [Page(browser.get(at("job", "orders", job_id))) for job_id in ("order/42", "order%2F42")]
    assert [page.title.split()[1] for page in pages] == ["order/42", "order%2F42"]


def test_p11_each_id_is_found_by_looking_it_up(odd_ids, operator, sign_in):
    browser = sign_in(operator)
    for job_id in IDS:
        answer = browser.get(at("lookup"), {"q": job_id})
        assert answer.headers["Location"] == at("job", "orders", job_id)


@pytest.mark.parametrize("address", ["/jobs/default/orders/order%2F42/", "/jobs/default/orders/order%2542/"])
def test_p11_an_address_that_we_would_not_have_written_leads_nowhere(odd_ids, operator, sign_in, address):
    assert sign_in(operator).get(address).status_code == 404


def test_p11_retry_touches_only_the_one(odd_ids, operator, sign_in, redis_client):
    browser = sign_in(operator)
    for done, job_id in enumerate(IDS):
        before = snapshot(redis_client)
        answer = press(browser, at("job", "orders", job_id), at("job-retry", "orders", job_id))
        assert (answer.status_code, answer.headers["Location"]) == (302, at("job", "orders", job_id))
        changed = differing_keys(before, snapshot(redis_client)) - marks(redis_client)
        assert changed == {f"rq:job:{job_id}", "rq:failed:orders", "rq:queue:orders"}
        assert redis_client.lrange("rq:queue:orders", 0, -1) == [one.encode() for one in IDS[: done + 1]]
    assert set(AuditEntry.objects.values_list("subject", "status")) == {(job_id, "done") for job_id in IDS}


def test_p11_delete_touches_only_the_one(odd_ids, operator, sign_in, redis_client):
    browser = sign_in(operator)
    for job_id in IDS:
        before, address = snapshot(redis_client), at("job-delete", "orders", job_id)
        assert confirm(browser, address).status_code == 302
        changed = differing_keys(before, snapshot(redis_client)) - marks(redis_client)
        assert changed == {f"rq:job:{job_id}", f"rq:results:{job_id}", "rq:failed:orders"}
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [b"plain"]


@pytest.fixture
def too_long(odd_ids, redis_client):
    """An id that the record of acts could not hold."""
    redis_client.copy("rq:job:plain", f"rq:job:{TOO_LONG}")
    redis_client.copy("rq:results:plain", f"rq:results:{TOO_LONG}")
    redis_client.zadd("rq:failed:orders", {TOO_LONG: 9999999999})
    return TOO_LONG


@pytest.mark.parametrize("address", [at("failed"), at("queue-state", "orders", "failed")])
def test_p11_a_longer_id_is_listed_and_the_page_says_that_it_is_not_supported(too_long, operator, sign_in, address):
    page = Page(sign_in(operator).get(address))
    assert too_long[:NAME_LENGTH] in page.text
    assert len(links_to_jobs(page)) == len(IDS) + 1
    assert "Its id is too long" in page.text


@pytest.mark.parametrize("name", ACTS)
def test_p11_a_longer_id_is_never_acted_on(too_long, operator, sign_in, redis_client, name):
    before = snapshot(redis_client)
    seen = redis_client.xrevrange(f"rq:results:{too_long}", count=1)[0][0].decode()
    assert sign_in(operator).post(at(name, "orders", too_long), {"seen": seen}).status_code == 404
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("name", ["job", "job-delete"])
def test_p11_a_longer_id_by_its_address_is_a_404(too_long, operator, sign_in, name):
    assert sign_in(operator).get(at(name, "orders", too_long)).status_code == 404


def test_p11_each_odd_queue_is_shown_with_its_job(odd_queues, superuser, sign_in):
    browser = sign_in(superuser)
    for name in ("overview", "queues", "failed", "workers"):
        assert name == "workers" or all(queue in Page(browser.get(at(name))).text for queue in QUEUES)
    for number, queue in enumerate(QUEUES):
        page = Page(browser.get(at("queue-state", queue, "failed")))
        assert links_to_jobs(page) == [at("job", queue, f"job-{number}")]
        assert f"boom {number}" in Page(browser.get(at("job", queue, f"job-{number}"))).text


def test_p11_the_failed_list_narrows_to_each_odd_queue(odd_queues, superuser, sign_in):
    browser = sign_in(superuser)
    for number, queue in enumerate(QUEUES):
        page = Page(browser.get(at("failed"), {"queue": queue}))
        assert links_to_jobs(page) == [at("job", queue, f"job-{number}")]


def test_p11_links_from_page_to_page_survive_odd_queues(odd_queues, superuser, sign_in):
    """Every link that any of the pages offers can be opened."""
    browser, opened = sign_in(superuser), set()
    waiting = [at("overview"), at("failed")]
    while waiting:
        address = waiting.pop()
        answer = browser.get(address)
        assert answer.status_code == 200, address
        opened.add(address)
        links = {link.partition("#")[0] or address for link in Page(answer).links}
        waiting += [link for link in links if link.startswith("/") and link not in {*opened, *waiting}]
    assert {at("queue-state", queue, "scheduled") for queue in QUEUES} < opened


def test_p11_retry_and_delete_in_an_odd_queue_touch_only_the_one(odd_queues, superuser, sign_in, redis_client):
    browser = sign_in(superuser)
    for number, queue in enumerate(QUEUES):
        names, before = (queue, f"job-{number}"), snapshot(redis_client)
        press(browser, at("job", *names), at("job-retry", *names))
        changed = differing_keys(before, snapshot(redis_client)) - marks(redis_client)
        assert changed == {f"rq:job:job-{number}", f"rq:failed:{queue}", f"rq:queue:{queue}"}
        redis_client.zadd(f"rq:failed:{queue}", {f"job-{number}": 9999999999})
        redis_client.hset(f"rq:job:job-{number}", "status", "failed")
        redis_client.delete(f"rq:queue:{queue}")
        confirm(browser, at("job-delete", *names))
        assert not redis_client.exists(f"rq:job:job-{number}", f"rq:failed:{queue}")


def test_p11_rights_hold_for_each_odd_queue(odd_queues, outsider, sign_in):
    browser = sign_in(outsider)
    for number, mine in enumerate(odd_queues):
        assert browser.get(at("job", mine.name, f"job-{number}")).status_code == 404
        assign_perm("opsboard_jobs.view_queue", outsider, mine)
        page = Page(browser.get(at("failed")))
        assert sorted(page.rows()) == sorted(f"{QUEUES[other]}:job-{other}" for other in range(number + 1))
        assert browser.get(at("job", mine.name, f"job-{number}")).status_code == 200


def test_p11_every_other_act_on_an_odd_id_touches_only_the_one(real_rq, redis_client, operator, sign_in):
    """A scheduled job and one without data by each of the ids: queued, cancelled, struck off."""
    real_rq.enqueue("fx.ok", 7, job_id="plain", seconds=3600)
    for job_id in IDS:
        redis_client.copy("rq:job:plain", f"rq:job:{job_id}")
        redis_client.zadd("rq:scheduled:orders", {job_id: 9999999999})
    browser = sign_in(operator)
    for job_id in IDS:
        keys, job = snapshot(redis_client), f"rq:job:{job_id}"
        for name, lists in (
            ("job-enqueue", {job, "rq:scheduled:orders", "rq:queue:orders"}),
            ("job-cancel", {job, "rq:queue:orders", "rq:canceled:orders"}),
        ):
            assert confirm(browser, at(name, "orders", job_id)).status_code == 302
            before, keys = keys, snapshot(redis_client)
            assert differing_keys(before, keys) - marks(redis_client) == lists
        redis_client.delete(job)
        assert confirm(browser, at("job-remove-entry", "orders", job_id)).status_code == 302
    assert redis_client.zrange("rq:scheduled:orders", 0, -1) == [b"plain"]
    assert not redis_client.exists("rq:canceled:orders", "rq:queue:orders")
    assert set(AuditEntry.objects.values_list("status", flat=True)) == {"done"}


def differing_keys(before, after):
    return {key.decode() for key in {*before, *after} if before.get(key) != after.get(key)}


def marks(redis_client):
    """What an act leaves behind to prove that it was carried out, beside RQ's own keys."""
    return {key.decode() for key in redis_client.keys("opsboard:act:*")}


# Names with a colon ---------------------------------------------------------------------------------------------------

COLON_IDS = ["order:42", ":", "a:b:c", "order-42:"]
"""RQ lists a run as `<job>:<execution>`, so it would take such an id for a run of another job."""
COLON_QUEUES = ["mail:eu", "eu:", "rq:queue:orders", "intermediate"]
CONFUSABLE = "RQ would take its id or its queue for something else (a colon inside), so no act on it is exact."


@pytest.fixture
def colon_ids(lay_once):
    """A real failure, copied by hand to each id."""
    lay_once(lay_colons)
    JobType.objects.create(path="fx.boom", idempotency="repeatable")


def lay_colons(rq, redis):
    rq.fail("fx.boom", 7, job_id="plain")
    for job_id in COLON_IDS:
        redis.copy("rq:job:plain", f"rq:job:{job_id}")
        redis.copy("rq:results:plain", f"rq:results:{job_id}")
        redis.zadd("rq:failed:orders", {job_id: 9999999999})


def test_p11_an_id_with_a_colon_is_listed_and_its_link_leads_to_it(colon_ids, operator, sign_in):
    browser = sign_in(operator)
    links = links_to_jobs(Page(browser.get(at("failed"))))
    assert set(links) == {at("job", "orders", job_id) for job_id in [*COLON_IDS, "plain"]}
    for job_id in COLON_IDS:
        page = Page(browser.get(at("job", "orders", job_id)))
        assert page.title.startswith(f"fx.boom {job_id} ") and page.text.count(CONFUSABLE) == 2


@pytest.mark.parametrize("job_id", COLON_IDS)
def test_p11_an_id_with_a_colon_is_never_acted_on_and_the_page_says_why(
    colon_ids, operator, sign_in, redis_client, job_id
):
    browser, before = sign_in(operator), snapshot(redis_client)
    for name in ACTS:
        address = at(name, "orders", job_id)
        page = Page(browser.get(address))
        assert CONFUSABLE in page.text and address not in [form.action for form in page.forms]
        answer = browser.post(address, everything_that_confirms(job_id))
        assert answer.status_code == 409 and CONFUSABLE in Page(answer).text
    assert snapshot(redis_client) == before
    assert set(AuditEntry.objects.values_list("status", "decision_code")) == {("refused", "confusable_name")}


def test_p11_the_same_holds_for_an_id_with_a_colon_whose_data_is_gone(real_rq, operator, sign_in, redis_client):
    redis_client.zadd("rq:failed:orders", {"order:42": 9999999999})
    browser, before = sign_in(operator), snapshot(redis_client)
    for name in ACTS:
        assert browser.post(at(name, "orders", "order:42"), everything_that_confirms("order:42")).status_code == 409
    assert snapshot(redis_client) == before


def test_p11_a_queue_that_is_named_like_rqs_intermediate_list_is_not_acted_in(
    real_rq, superuser, sign_in, redis_client
):
    """What a worker has just taken from `x` RQ keeps under `x:intermediate`."""
    queue = "orders:intermediate"
    real_rq.fail("fx.boom", 7, queue=queue, job_id="job-1")
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    browser, before = sign_in(superuser), snapshot(redis_client)
    assert CONFUSABLE in Page(browser.get(at("job", queue, "job-1"))).text
    for name in ACTS:
        answer = browser.post(at(name, queue, "job-1"), everything_that_confirms("job-1", queue))
        assert answer.status_code == 409 and CONFUSABLE in Page(answer).text
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("queue", COLON_QUEUES)
def test_p11_other_queues_with_a_colon_are_acted_in(real_rq, superuser, sign_in, redis_client, queue):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    browser = sign_in(superuser)
    for job_id in ("job-1", "job-2"):
        real_rq.fail("fx.boom", 7, queue=queue, job_id=job_id)
    press(browser, at("job", queue, "job-1"), at("job-retry", queue, "job-1"))
    assert redis_client.lrange(f"rq:queue:{queue}", 0, -1) == [b"job-1"]
    confirm(browser, at("job-cancel", queue, "job-1"))
    assert redis_client.hget("rq:job:job-1", "status") == b"canceled"
    confirm(browser, at("job-delete", queue, "job-2"))
    assert not redis_client.exists("rq:job:job-2", f"rq:failed:{queue}")
    assert set(AuditEntry.objects.values_list("status", "queue")) == {("done", queue)}


def everything_that_confirms(job_id, queue="orders"):
    """No confirmation is what is missing."""
    return {"seen": read(job_id, queue).seen, "confirmed": "delete", "typed": "boom"}
