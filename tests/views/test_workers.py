"""The workers, as far as they serve queues that one may see."""

from __future__ import annotations

import pytest
from django.utils import timezone
from guardian.shortcuts import assign_perm

from jobs.broker import connections
from tests.support.layered import on_record, replace_attempt
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
HERE = at("workers")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("viewer")


def register(client, name, **fields):
    """A worker's record as RQ writes it, alive unless `fields` say otherwise."""
    alive = client.hgetall("rq:worker:packer")
    client.hset(f"rq:worker:{name}", mapping={**alive, b"state": b"idle", b"current_job": b"", **fields})
    client.sadd("rq:workers", f"rq:worker:{name}")


def row(page, name):
    html = page.content.decode().partition(f'data-key="{name}"')[2].partition("</tr>")[0]
    return Page(f"<tr {html}").text


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


def test_a_busy_worker_is_shown_with_its_queue_its_job_and_where_it_runs(browser, shop):
    found = row(browser.get(HERE), "packer")
    host, pid, version = (value.decode() for value in shop.hmget("rq:worker:packer", "hostname", "pid", "version"))
    assert "busy packer orders slow-1" in found
    assert f"{host}, pid {pid}, RQ {version}" in found
    assert at("job", "orders", "slow-1") in Page(browser.get(HERE)).links


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "idle"),
        ({"shutdown_requested_date": "2026-01-01T00:00:00.000000Z"}, "leaving"),
        ({"death": "2026-01-01T00:00:00.000000Z"}, "no sign of life"),
        ({"last_heartbeat": "2026-01-01T00:00:00.000000Z"}, "no sign of life"),
    ],
)
def test_each_state_has_its_word(browser, shop, fields, word):
    register(shop, "other", **fields)
    assert word in row(browser.get(HERE), "other")


@pytest.mark.parametrize(
    ("proof", "word"),
    [("process_gone", "no sign of life"), ("exit_recorded", "no sign of life"), ("lease_over", "busy")],
)
def test_who_says_that_he_is_busy_with_a_job_whose_process_is_proved_dead_is_dead_too(browser, proof, word):
    attempt = on_record("slow:1", "slow-1", status="retry_wait", job_type="fx.slow").attempts.get()
    replace_attempt(attempt, worker_name="packer", outcome="lost", ended_at=timezone.now(), death_proof=proof)
    assert word in row(browser.get(HERE), "packer")


def test_the_worst_comes_first(browser, shop):
    register(shop, "a-idle")
    register(shop, "z-dead", death="2026-01-01T00:00:00.000000Z")
    assert Page(browser.get(HERE)).rows() == ["z-dead", "packer", "a-idle"]


def test_a_worker_of_a_queue_one_may_not_see_is_not_shown(browser, shop, viewer, payroll):
    register(shop, "accountant", queues="payroll")
    assert Page(browser.get(HERE)).rows() == ["packer"]
    assign_perm("view_queue", viewer, payroll)
    assert Page(browser.get(HERE)).rows() == ["packer", "accountant"]


def test_of_a_worker_that_serves_both_only_what_one_may_see_is_told(browser, shop):
    register(shop, "both", queues="orders,payroll", state="busy", current_job="pay-1")
    assert "both orders" in row(browser.get(HERE), "both")
    assert "pay" not in browser.get(HERE).text


def test_a_worker_that_is_only_listed_is_shown_to_superusers(shop, browser_of, viewer):
    shop.sadd("rq:workers", "rq:worker:ghost")
    assert "no sign of life" in row(browser_of("superuser").get(HERE), "ghost")
    assert "ghost" not in browser_of("viewer").get(HERE).text


def test_no_worker_is_said_with_what_follows(browser, shop):
    shop.delete("rq:workers")
    page = Page(browser.get(HERE))
    assert not page.rows()
    assert "No worker serves a queue that you may see" in page.text


def test_who_may_see_nothing_is_told_whom_to_ask(shop, browser_of):
    page = browser_of("outsider").get(HERE)
    assert "You may see no queue yet" in Page(page).text and "packer" not in page.text


def test_one_silent_store_of_two_hides_nothing_of_the_other(shop, valkey, browser_of, superuser, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url}, "billing": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    answer = browser_of("superuser").get(HERE)
    assert answer.status_code == 200 and Page(answer).rows() == ["packer"]
    assert "The job store does not answer: no connection." in Page(answer).text


def test_its_refresh_is_the_part_that_changes(browser):
    part = browser.get(HERE, headers={"hx-request": "true"})
    assert "<html" not in part.text and Page(part).rows() == ["packer"]


def test_a_real_worker_comes_and_goes(real_rq, browser_of, redis_client):
    browser = browser_of("viewer")
    worker = real_rq.start("orders", name="passing-by")
    assert "idle passing-by orders" in row(browser.get(HERE), "passing-by")
    worker.stop()
    assert "idle" not in row(browser.get(HERE), "passing-by")
