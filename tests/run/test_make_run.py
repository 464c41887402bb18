"""`make run`: one command, one terminal, everything up, and nothing left when it stops."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import sqlite3
import urllib.request
import zlib
from collections import Counter
from contextlib import closing

import pytest
from redis import Redis, exceptions

from opsboard.demo.jobs import FORGOTTEN, KILLED
from tests.support.keyspace import snapshot
from tests.support.make_run import LAST_LINE
from tests.support.real_rq import wait_until

STATUSES = Counter(finished=8, failed=15, stopped=1, deferred=1, queued=3, scheduled=1)
FAILED = {"default": 4, "mail": 4, "payments": 6, "exports": 1, "reports": 2}
"""Per queue; the stopped one, which RQ lists there too, included, and the one whose data is gone after a minute."""


# A newcomer -----------------------------------------------------------------------------------------------------------


def test_the_shops_jobs_really_ran(shop):
    with Redis.from_url(shop.redis_url) as client:
        _wait_for_jobs(client)
        assert {name: client.zcard(f"rq:failed:{name}") for name in FAILED} == FAILED
        assert client.llen("rq:queue:archive") == 3


def test_two_of_them_were_really_killed_one_before_its_effect_and_one_after(shop):
    with Redis.from_url(shop.redis_url) as client:
        killed = [job for job in client.scan_iter("rq:results:*") if "signal 9" in _end(client, job)]
        calls = {client.hget(job.replace(b"results", b"job"), "description")[-17:] for job in killed}
        assert calls >= {b"charge_card(4711)", b"charge_card(4712)"}
    statement = (shop.folder / "demo/charges.jsonl").read_text()
    assert [statement.count(f'"order": {order}') for order in (4711, 4712)] == [1, 0]


def test_both_wait_for_a_person_who_is_told_where_to_look(shop):
    waiting = _ask(
        shop, "SELECT job_id FROM opsboard_jobs_review r JOIN opsboard_jobs_operation o ON o.id = r.operation_id"
    )
    assert {order.job_id for order in KILLED} <= {job_id for (job_id,) in waiting}
    runbooks = _ask(shop, "SELECT runbook_text FROM opsboard_jobs_jobtype WHERE path LIKE '%charge_card'")
    assert str(shop.folder / "demo/charges.jsonl") in runbooks[0][0]
    assert "Look at Review first" in shop.text


def test_of_two_killed_operations_one_goes_on_by_itself_and_of_the_other_a_person_is_asked(shop):
    found = _ask(shop, "SELECT operation_id, status, attempts_used FROM opsboard_jobs_operation WHERE fence > 0")
    assert sorted(one for one in found if not one[0].startswith("export")) == [
        ("parcel:4701", "completed", 2),
        ("refund:4702", "unknown", 1),
    ]
    assert (shop.folder / "demo/parcels.jsonl").read_text().count("PARCEL-4701") == 1
    assert (shop.folder / "demo/refunds.jsonl").read_text().count("4702") == 1


def test_of_three_exports_one_is_ready_one_failed_and_of_one_the_mail_is_asked_about(shop):
    wanted = "SELECT period, o.status, coalesce(m.status, '') FROM exports_export e "
    built = "JOIN opsboard_jobs_operation o ON o.id = e.operation_id "
    mailed = "LEFT JOIN opsboard_jobs_operation m ON m.id = e.mail_operation_id ORDER BY e.id"
    quarter, year, nonsense = _ask(shop, wanted + built + mailed)
    assert quarter[0] == f"{year[0]}-Q4" and nonsense[0] == f"{year[0]}-13"
    assert [quarter[1:], year[1:], nonsense[1:]] == [
        ("completed", "unknown"),
        ("completed", "completed"),
        ("failed", ""),
    ]
    assert _ask(shop, "SELECT count(*) FROM exports_order") == [(40_000,)]
    assert len(list((shop.folder / "exports").glob("export-*.csv"))) == 2


def test_the_mail_that_is_asked_about_was_sent_and_the_runbook_says_where_to_look(shop):
    assert len(list((shop.folder / "mail").glob("*.export-1.*.eml"))) == 1
    runbooks = _ask(shop, "SELECT runbook_text FROM opsboard_jobs_jobtype WHERE path LIKE '%mail_export'")
    assert str(shop.folder / "mail") in runbooks[0][0]


def test_the_workers_log_has_the_ids_of_an_operation_on_lines_of_json(shop):
    written = [json.loads(line) for line in (shop.folder / "log/worker.log").read_text().splitlines()]
    assert {line.get("finalStatus") for line in written if line.get("operationId") == "parcel:4701"} >= {"completed"}


def test_what_redis_is_about_to_forget_is_on_record(shop):
    line = f"SELECT error_line FROM opsboard_jobs_failedjob WHERE job_id = '{FORGOTTEN.job_id}'"
    wait_until(lambda: _ask(shop, line), "the observer has seen the failure that Redis keeps for a minute", seconds=60)
    assert _ask(shop, line) == [("ValueError: Item 87: the picture is empty",)]
    with Redis.from_url(shop.redis_url) as client:
        assert client.ttl(f"rq:job:{FORGOTTEN.job_id}") <= 60


def test_the_greeting_names_the_address_and_every_account(shop):
    assert f"opsboard is ready: {shop.address}" in shop.lines
    assert f"  ssh -L {shop.port}:127.0.0.1:{shop.port} THIS-MACHINE" in shop.lines
    assert re.findall(r"^  (\w+) +demo password +\w", shop.text, re.MULTILINE) == [
        "viewer",
        "operator",
        "lead",
        "clerk",
    ]


def test_nothing_is_printed_after_the_greeting(shop):
    wait_until(lambda: not shop.lines[-1], "the greeting ends")
    assert shop.lines[-2].startswith(LAST_LINE)


def test_a_given_password_is_kept_nowhere(shop):
    assert not (shop.folder / "demo-passwords").exists()


def test_what_is_stored_is_for_its_owner_only(shop):
    assert shop.folder.stat().st_mode & 0o077 == 0
    assert (shop.folder / "valkey/valkey.conf").stat().st_mode & 0o077 == 0
    address = re.sub(r":[^:]*@", "", shop.redis_url)
    with Redis.from_url(address) as stranger, pytest.raises(exceptions.AuthenticationError):
        stranger.get("rq:queues")


def test_the_store_forgets_nothing_when_it_is_killed_or_full(shop):
    with Redis.from_url(shop.redis_url) as client:
        wanted = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "bind": "127.0.0.1"}
        assert client.config_get(*wanted) == wanted


def test_a_second_run_beside_the_first_says_so_and_starts_nothing(shop, make_run):
    second = make_run(OPSBOARD_VAR=str(shop.folder))
    assert second.wait() != 0
    assert f"opsboard already runs in this folder ({shop.address}" in second.text
    assert _answers(shop)


# A second time --------------------------------------------------------------------------------------------------------


def test_a_second_run_finds_its_data_and_prints_the_same_passwords(make_run):
    first = make_run()
    with Redis.from_url(first.redis_url) as client:
        before = _wait_for_jobs(client)
    first.press_ctrl_c()
    first.wait()
    second = make_run()
    with Redis.from_url(second.redis_url) as client:
        assert _statuses(client) == before
    assert _accounts(second) == _accounts(first) != []
    assert (second.folder / "demo-passwords").stat().st_mode & 0o077 == 0


# A person's own RQ ----------------------------------------------------------------------------------------------------


def test_on_ones_own_rq_nothing_is_changed_and_no_worker_started(make_run, redis_client, valkey):
    redis_client.sadd("rq:queues", "rq:queue:orders")
    redis_client.rpush("rq:queue:orders", "seven")
    before = snapshot(redis_client)
    run = make_run(REDIS_URL=valkey.url)
    assert snapshot(redis_client) == before
    assert not (run.folder / "valkey").exists()
    assert [name for name in ("rqworker", "valkey-server", "manage.py observe") if run.has_child(name)] == [
        "manage.py observe"
    ]


def test_on_ones_own_rq_admin_is_made_once_and_the_queues_are_given(make_run, redis_client, valkey):
    redis_client.sadd("rq:queues", "rq:queue:orders")
    first = make_run(REDIS_URL=valkey.url)
    assert re.search(r"^  Account admin, password \S+ \(not shown again\)", first.text, re.MULTILINE)
    assert "  Queue default:orders: given to Viewers, Operators and Leads." in first.lines
    first.press_ctrl_c()
    first.wait()
    assert "admin" not in make_run(REDIS_URL=valkey.url).text


# Refusals -------------------------------------------------------------------------------------------------------------


def test_a_taken_port_is_said_before_anything_starts(make_run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = make_run(PORT=str(port))
        assert run.wait() != 0
    assert f"Port {port} is taken by another program; choose another: make run PORT={port + 1}" in run.lines
    assert not (run.folder / "valkey").exists()


def test_a_setting_that_cannot_be_read_is_said_in_one_sentence(make_run):
    run = make_run(PORT="eighty")
    assert run.wait() != 0
    assert [line for line in run.lines if not line.startswith("make:")] == [
        "PORT must be a whole number from 1 to 65535; change it or leave it out."
    ]


# The end --------------------------------------------------------------------------------------------------------------


def test_on_a_database_of_ones_own_there_is_no_demo_and_ctrl_c_stops_everything(bare_run):
    assert _accounts(bare_run) == []
    with Redis.from_url(bare_run.redis_url) as client:
        assert list(client.scan_iter("rq:job:*")) == []
    bare_run.press_ctrl_c()
    bare_run.wait()
    assert [line for line in bare_run.lines if not line.startswith("make:")][-2:] == ["Stopping.", "Stopped."]
    assert bare_run.left_over() == []


def test_closing_the_window_stops_everything(bare_run):
    bare_run.close_window()
    bare_run.wait()
    assert bare_run.left_over() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_make_alone_leaves_nothing_behind(bare_run, number):
    bare_run.send(number)
    bare_run.wait()
    assert "Stopped." in bare_run.lines
    assert bare_run.left_over() == []


@pytest.mark.parametrize("victim", ["make", "opsboard.runner"])
def test_not_even_sigkill_leaves_anything_behind(bare_run, victim):
    os.kill(bare_run.process.pid if victim == "make" else bare_run.child(victim), signal.SIGKILL)
    wait_until(lambda: bare_run.left_over() == [], "everything has ended", seconds=30)


@pytest.mark.parametrize(
    ("victim", "name"), [("rqworker", "worker"), ("valkey-server", "valkey"), ("manage.py observe", "observer")]
)
def test_when_one_dies_it_says_so_and_all_stop(bare_run, victim, name):
    os.kill(bare_run.child(victim), signal.SIGKILL)
    assert bare_run.wait() != 0
    assert f"{name} was ended by SIGKILL; stopping everything." in bare_run.lines
    assert bare_run.left_over() == []


def _wait_for_jobs(client):
    """What has become of them all; the end of the last one may be on record in SQL an instant before it is in Redis."""
    wait_until(lambda: _statuses(client) == STATUSES, "all jobs of the demo have run")
    return STATUSES


def _statuses(client):
    """How many jobs are in which state, but for the one that is there for a minute only."""
    jobs = [key for key in client.scan_iter("rq:job:*") if client.type(key) == b"hash"]
    lasting = [key for key in jobs if FORGOTTEN.job_id not in key.decode()]
    return Counter(client.hget(key, "status").decode() for key in lasting)


def _ask(run, question):
    """What the run's own database answers."""
    with closing(sqlite3.connect(run.folder / "opsboard.sqlite3", timeout=20)) as database:
        return database.execute(question).fetchall()


def _end(client, results):
    newest = dict(client.xrevrange(results, count=1)[0][1])
    return zlib.decompress(base64.b64decode(newest.get(b"exc_string", b"eJwDAAAAAAE="))).decode()


def _accounts(run):
    return [line for line in run.lines if re.match(r"  (viewer|operator|lead|clerk) ", line)]


def _answers(run):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        run.address + "healthz", timeout=5
    ) as answer:
        return json.load(answer) == {"status": "ok"}
