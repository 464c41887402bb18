"""Enqueue now, cancel, stop and remove-entry through their pages: what each asks, does, and leaves on record."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from jobs.models import AuditEntry
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, confirm, press

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Sample:
    """One act on one job of the shop, with what its page says and what is sent from there."""

    word: str
    job_id: str
    verb: str
    heading: str
    sentence: str
    button: str
    right: str
    code: str
    done: str
    parts: list[str] = field(default_factory=list)

    @property
    def here(self):
        return at(f"job-{self.word}", "orders", self.job_id)


ENQUEUE = Sample(
    "enqueue",
    "later-1",
    "enqueue_job",
    "Enqueue this job now?",
    "It runs now instead of at its due time. It runs with its time limit of 3 min;",
    "Enqueue now",
    "You may not retry jobs in this queue; the right retry_job is missing.",
    "scheduled",
    "Job later-1 is on the queue orders now.",
)
CANCEL = Sample(
    "cancel",
    "next-1",
    "cancel_job",
    "Cancel this job?",
    "It is taken from its queue and does not run.",
    "Cancel the job",
    "You may not cancel and stop jobs in this queue; the right cancel_job is missing.",
    "cancel",
    "Job next-1 is cancelled: it will not run.",
    ["the job with its data, among the cancelled ones, until it is deleted"],
)
STOP = Sample(
    "stop",
    "slow-1",
    "stop_job",
    "Stop this job?",
    "the outcome may become unknown, and somebody will have to find out whether it acted.",
    "Stop the run",
    "You may not cancel and stop jobs in this queue; the right cancel_job is missing.",
    "stop",
    "The worker of job slow-1 was told to stop it.",
    ["Worker packer", "Running since"],
)
REMOVE = Sample(
    "remove-entry",
    "ghost",
    "remove_entry",
    "Remove this entry?",
    "Its data is gone. Its id is struck off the lists, and what is left under it goes too.",
    "Remove the entry",
    "You may not delete jobs in this queue; the right delete_job is missing.",
    "remove_entry",
    "The id ghost is struck off the lists of orders.",
)
SAMPLES = [ENQUEUE, CANCEL, STOP, REMOVE]
ASKING = [CANCEL, STOP, REMOVE]

every_act = pytest.mark.parametrize("act", SAMPLES, ids=lambda act: act.word)


@pytest.fixture
def place(shop):
    """The shop, with an id that is only listed, and somebody who listens as the worker packer would."""
    shop.zadd("rq:failed:orders", {"ghost": 9e9})
    with shop.pubsub() as ear:
        ear.subscribe("rq:pubsub:packer")
        assert ear.get_message(timeout=10)
        yield shop


@pytest.fixture
def browser(place, browser_of, payroll):
    return browser_of("operator")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
@every_act
def test_it_takes_no_other_method_than_get_and_post(browser, place, act, method):
    before = snapshot(place)
    assert getattr(browser, method)(act.here).status_code == 405
    assert snapshot(place) == before


@pytest.mark.parametrize("method", ["get", "head"])
@every_act
def test_looking_changes_nothing(browser, place, act, method):
    before = snapshot(place)
    assert getattr(browser, method)(act.here).status_code == 200
    assert snapshot(place) == before and not AuditEntry.objects.exists()


@every_act
def test_the_page_asks_with_what_would_happen_and_leaving_it_has_the_focus(browser, act):
    page = Page(browser.get(act.here))
    assert act.heading in page.text and act.sentence in page.text and act.job_id in page.text
    assert all(part in page.text for part in act.parts)
    assert page.text.index("Leave it as it is") < page.text.index(act.button)
    (focused,) = [one.attributes for one in page.elements if "autofocus" in one.attributes]
    is_gone = act is REMOVE
    assert focused["href"] == (at("queue-state", "orders", "failed") if is_gone else at("job", "orders", act.job_id))
    assert "typed" not in [one.attributes.get("name") for one in page.elements]


@every_act
def test_it_is_done_said_and_on_record(browser, place, operator, act):
    answer = confirm(browser, act.here, reason=" the shop is shut ")
    place_to_go = ("queue-state", "orders", "failed") if act is REMOVE else ("job", "orders", act.job_id)
    assert (answer.status_code, answer.headers["Location"]) == (302, at(*place_to_go))
    assert act.done in Page(browser.get(answer.headers["Location"])).text
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.subject, entry.queue) == (operator, act.verb, act.job_id, "orders")
    assert (entry.status, entry.decision_code, entry.reason) == ("done", act.code, "the shop is shut")
    assert place.exists(f"opsboard:act:{entry.id}")


@pytest.mark.parametrize("act", ASKING, ids=lambda act: act.word)
@pytest.mark.parametrize("confirmed", ["", "yes", "retry_job", "x" * 10_000, "\0"])
def test_what_was_not_confirmed_is_asked_again_with_the_reason_kept(browser, place, act, confirmed):
    before = snapshot(place)
    answer = press(browser, act.here, act.here, confirmed=confirmed, reason="the shop is shut")
    assert answer.status_code == 400
    page = Page(answer)
    assert "Nothing was done: this wants to be confirmed." in page.text and "the shop is shut" in page.text
    assert page.form(act.here).fields["confirmed"] == act.code
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.decision_code, entry.reason) == ("refused", "unconfirmed", "the shop is shut")
    assert snapshot(place) == before


@every_act
def test_who_has_seen_something_else_does_nothing(browser, place, act):
    before = snapshot(place)
    answer = press(browser, act.here, act.here, seen="queued@/")
    assert answer.status_code == 409 and "Not done: the job " in Page(answer).text
    assert snapshot(place) == before
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().decision_code) == ("changed", "changed")


@every_act
def test_a_viewer_is_neither_asked_nor_obeyed(place, browser_of, act):
    browser, before = browser_of("viewer"), snapshot(place)
    for answer in (browser.get(act.here), browser.post(act.here, {"seen": read(act.job_id).seen})):
        assert answer.status_code == 403 and act.right in Page(answer).text
    assert snapshot(place) == before
    assert AuditEntry.objects.get().status == "refused"


@pytest.mark.parametrize(("queue", "job_id"), [("payroll", "pay-1"), ("orders", "pay-1"), ("nowhere", "4711")])
@every_act
def test_a_job_one_may_not_see_is_not_found_and_stays(browser, place, act, queue, job_id):
    address, before = at(f"job-{act.word}", queue, job_id), snapshot(place)
    assert browser.get(address).status_code == 404
    assert browser.post(address, {"seen": read("pay-1", "payroll").seen, "confirmed": act.code}).status_code == 404
    assert snapshot(place) == before


@pytest.mark.parametrize(
    ("word", "job_id", "sentence"),
    [
        ("enqueue", "4711", "Only what is scheduled or lost from its queue can be queued now."),
        ("enqueue", "done-1", "Only what is scheduled or lost from its queue can be queued now."),
        ("cancel", "slow-1", "It is running, and a cancel does not end a run: “Stop” does."),
        ("cancel", "canceled-1", "It is cancelled already."),
        ("cancel", "4711", "It does not wait."),
        ("stop", "next-1", "It is not running."),
        ("remove-entry", "4711", "Its data is there: it is a job, and can be deleted as one."),
    ],
)
def test_what_can_not_be_done_is_refused_with_the_reason_and_offers_no_button(browser, place, word, job_id, sentence):
    address, before = at(f"job-{word}", "orders", job_id), snapshot(place)
    page = Page(browser.get(address))
    assert f"It can’t be done now. {sentence}" in page.text
    assert address not in [form.action for form in page.forms] and at("job", "orders", job_id) in page.links
    form = {"seen": read(job_id).seen, "confirmed": {"remove-entry": "remove_entry"}.get(word, word)}
    answer = browser.post(address, form)
    assert answer.status_code == 409 and sentence in Page(answer).text
    assert snapshot(place) == before
    assert AuditEntry.objects.get().status == "refused"


@pytest.mark.parametrize("word", ["retry", "enqueue", "cancel", "stop", "delete"])
def test_the_page_of_an_act_on_a_job_without_data_leads_to_the_removal_of_its_entry(browser, place, word):
    answer = browser.get(at(f"job-{word}", "orders", "ghost"))
    assert answer.status_code == 404
    assert "its id is still listed, but its data is gone from Redis" in Page(answer).text
    assert REMOVE.here in Page(answer).links


def test_who_may_not_remove_an_entry_is_not_offered_to(place, browser_of):
    answer = browser_of("viewer").get(at("job", "orders", "ghost"))
    assert answer.status_code == 404 and REMOVE.here not in Page(answer).links


# One by one -----------------------------------------------------------------------------------------------------------


def test_an_enqueued_job_stands_at_the_end_of_its_queue(browser, place):
    confirm(browser, ENQUEUE.here)
    assert place.lrange("rq:queue:orders", 0, -1) == [b"next-1", b"next-2", b"later-1"]
    assert place.zscore("rq:scheduled:orders", "later-1") is None


def test_a_job_is_enqueued_from_its_own_page_at_one_press(browser, place):
    assert press(browser, at("job", "orders", "later-1"), ENQUEUE.here).status_code == 302
    assert place.lpos("rq:queue:orders", "later-1") == 2


@pytest.mark.parametrize("job_id", ["next-1", "later-1", "held-1"])
def test_a_cancelled_job_is_among_the_cancelled_and_nowhere_else(browser, place, job_id):
    confirm(browser, at("job-cancel", "orders", job_id))
    listed = [key for key in place.scan_iter("rq:*:orders", _type="zset") if place.zscore(key, job_id) is not None]
    assert listed == [b"rq:canceled:orders"] and place.lpos("rq:queue:orders", job_id) is None
    assert "It was cancelled and will not run." in Page(browser.get(at("job", "orders", job_id))).text


def test_whom_a_cancelled_job_holds_up_is_named(browser, place):
    place.sadd("rq:job:next-1:dependents", "held-1")
    assert "These wait for it and will never run: held-1" in Page(browser.get(CANCEL.here)).text


def test_the_worker_of_a_stopped_job_is_told_and_only_it(browser, place):
    with place.pubsub() as ear:
        ear.psubscribe("rq:pubsub:*")
        assert ear.get_message(timeout=10)
        confirm(browser, STOP.here)
        message = ear.get_message(timeout=10)
    assert message["channel"] == b"rq:pubsub:packer"
    assert message["data"] == b'{"command": "stop-job", "job_id": "slow-1"}'


def test_a_worker_that_does_not_listen_is_said_and_nothing_was_done(shop, browser_of):
    before = snapshot(shop)
    answer = confirm(browser_of("operator"), STOP.here)
    assert answer.status_code == 503 and "no worker heard it" in Page(answer).text
    assert snapshot(shop) == before and AuditEntry.objects.get().status == "not_done"


def test_a_second_press_of_remove_is_told_that_there_is_nothing(browser, place):
    form = Page(browser.get(REMOVE.here)).form(REMOVE.here).fields
    assert browser.post(REMOVE.here, form).status_code == 302
    assert browser.post(REMOVE.here, form).status_code == 404
    assert not [key for key in place.scan_iter("rq:*:orders", _type="zset") if place.zscore(key, "ghost") is not None]


@pytest.mark.parametrize("act", [ENQUEUE, CANCEL], ids=lambda act: act.word)
def test_a_second_press_is_told_who_was_faster(browser, superuser, sign_in, act):
    form = Page(browser.get(act.here)).form(act.here).fields
    assert sign_in(superuser).post(act.here, form).status_code == 302
    answer = browser.post(act.here, form)
    assert answer.status_code == 409 and "Not done: root has just " in Page(answer).text


def test_a_run_that_was_told_to_stop_can_be_told_again(browser):
    """Nothing at the job says that its worker was told; a worker that is told twice stops it once."""
    form = Page(browser.get(STOP.here)).form(STOP.here).fields
    assert [browser.post(STOP.here, form).status_code for _ in range(2)] == [302, 302]
    assert list(AuditEntry.objects.values_list("status", flat=True)) == ["done", "done"]
