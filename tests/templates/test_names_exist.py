"""Every name that a template prints exists: Django itself would print nothing and say nothing."""

from __future__ import annotations

import copy

import pytest

from jobs.domain.ticks import Tick
from jobs.domain.words import ACT_SLUGS
from jobs.models import AuditEntry, JobType
from tests.support.pages import at, confirm, press
from tests.support.real_rq import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]

FORMS = ["/lookup/", "/lookup/?q=nothing", "/job-types/?path=no-path", "/login/", "/access/"]
PAGES = [at("overview"), at("failed"), at("failed") + "?queue=orders", at("queues"), at("workers"), *FORMS]
STATES = ["queued", "started", "failed", "finished", "scheduled", "deferred", "canceled"]


class Missing(str):
    """What Django prints for a name that does not exist: here, an error that says which."""

    __slots__ = ()

    def __contains__(self, text: object) -> bool:
        return text == "%s"

    def __mod__(self, name: object) -> str:
        raise AssertionError(f"a template prints “{name}”, which does not exist")


@pytest.fixture(autouse=True)
def strict(settings):
    templates = copy.deepcopy(settings.TEMPLATES)
    templates[0]["OPTIONS"]["string_if_invalid"] = Missing("%s")
    settings.TEMPLATES = templates


@pytest.fixture
def jobs(real_rq):
    """A job in each state that one worker leaves behind."""
    real_rq.enqueue("fx.ok", 1, job_id="waits", queue="idle")
    real_rq.enqueue("fx.ok", 2, job_id="later", seconds=3600)
    real_rq.enqueue("fx.ok", 3, job_id="blocked", depends_on="failed")
    real_rq.enqueue("fx.ok", 4, job_id="done")
    real_rq.fail("fx.boom", 7, "secret", order_id=8, job_id="failed")


@pytest.fixture
def browser(jobs, superuser, sign_in):
    return sign_in(superuser)


@pytest.mark.parametrize("address", [*PAGES, *(at("queue-state", "orders", state) for state in STATES)])
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "part"])
def test_a_page_and_its_part_print_nothing_that_is_missing(browser, address, headers):
    assert browser.get(address, headers=headers).status_code in (200, 302)


@pytest.mark.parametrize("job_id", ["failed", "later", "blocked", "done"])
def test_a_jobs_page_and_those_of_its_acts_print_nothing_that_is_missing(browser, job_id):
    assert browser.get(at("job", "orders", job_id)).status_code == 200
    for word in ACT_SLUGS.values():
        assert browser.get(at(f"job-{word}", "orders", job_id)).status_code == 200


def test_an_act_that_asks_and_was_not_confirmed_prints_nothing_that_is_missing(browser, redis_client):
    JobType.objects.create(path="fx.boom", idempotency="keyed", remembered_for_seconds=86_400)
    redis_client.zadd("rq:failed:orders", {"ghost": 9e9})
    for word, queue, job_id in (
        ("retry", "orders", "failed"),
        ("delete", "orders", "failed"),
        ("cancel", "idle", "waits"),
        ("remove-entry", "orders", "ghost"),
    ):
        assert (
            press(browser, at(f"job-{word}", queue, job_id), at(f"job-{word}", queue, job_id), confirmed="").status_code
            == 400
        )


def test_a_running_job_prints_nothing_that_is_missing(browser, real_rq, redis_client):
    real_rq.enqueue("fx.slow", 1, 60, job_id="slow")
    real_rq.start("orders").wait_for_horse()
    wait_until(lambda: redis_client.zcard("rq:wip:orders"), "the job has its lease")
    for name in ("job", "job-stop"):
        assert browser.get(at(name, "orders", "slow")).status_code == 200
    stop = at("job-stop", "orders", "slow")
    assert press(browser, stop, stop, confirmed="").status_code == 400


def test_an_id_without_data_prints_nothing_that_is_missing(browser, redis_client):
    redis_client.zadd("rq:failed:orders", {"ghost": 9e9})
    redis_client.hset("rq:job:half", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    redis_client.zadd("rq:failed:orders", {"half": 9e9})
    for job_id, status in (("ghost", 404), ("half", 200)):
        assert browser.get(at("job", "orders", job_id)).status_code == status
        assert browser.get(at("job-remove-entry", "orders", job_id)).status_code == 200
        assert browser.get(at("job-retry", "orders", job_id)).status_code == status


def test_a_waiting_job_and_its_list_print_nothing_that_is_missing(browser):
    assert browser.get(at("job", "idle", "waits")).status_code == 200
    assert browser.get(at("queue-state", "idle", "queued")).status_code == 200


def test_what_follows_an_act_prints_nothing_that_is_missing(browser):
    job, retry = at("job", "orders", "failed"), at("job-retry", "orders", "failed")
    assert browser.post(retry, {"seen": "something else"}).status_code == 409
    press(browser, "/job-types/fx.boom/", "", idempotency="unsafe")
    assert JobType.objects.get().idempotency == "unsafe"
    assert browser.get("/job-types/fx.boom/").status_code == browser.get("/job-types/").status_code == 200
    assert AuditEntry.objects.count() == 2
    assert browser.get(job).status_code == 200


def test_a_job_that_is_gone_and_one_that_was_deleted_print_nothing_that_is_missing(browser):
    delete = at("job-delete", "orders", "failed")
    assert confirm(browser, delete, reason="not wanted").status_code == 302
    assert browser.get(at("job", "orders", "failed")).status_code == 404
    assert browser.get(at("job", "orders", "never")).status_code == 404


def test_an_outsider_is_told_why_there_is_nothing(jobs, outsider, sign_in):
    browser = sign_in(outsider)
    for address in (at("overview"), at("failed"), at("queues"), at("workers")):
        assert "You may see no queue yet" in browser.get(address).content.decode()


@pytest.mark.parametrize(("shown", "is_said"), [("running", True), ("failed_known", False)])
def test_a_job_that_moved_on_under_the_readers_eyes_says_so(browser, shown, is_said):
    part = browser.get(at("job", "orders", "failed"), {"shown": shown}, headers={"HX-Request": "true"}).content.decode()
    assert ("The job has moved on" in part) is is_said


def test_ticked_jobs_print_nothing_that_is_missing(browser):
    """Before the act and after it."""
    ticks = [Tick("orders", job_id, "1-1").encode() for job_id in ("failed", "done", "nowhere")]
    form = {"connection": "default", "row": ticks}
    assert browser.post(at("ticked"), {**form, "verb": "delete_job"}).status_code == 200
    assert browser.post(at("ticked"), {**form, "verb": "cancel_job", "typed": "7"}).status_code == 400
    result = browser.post(at("ticked"), {**form, "verb": "retry_job"}).headers["Location"]
    assert browser.get(result).status_code == 200
