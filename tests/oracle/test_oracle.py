"""The oracle counts what really happened, whatever becomes of the answer."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from http.client import RemoteDisconnected

import pytest

from tests.oracle import client
from tests.oracle.book import Fault
from tests.oracle.running import running_oracle
from tests.support.real_rq import wait_until


@pytest.fixture
def url(oracle):
    return oracle.url


@pytest.fixture
def order():
    """A business key that no other test uses, and that has to be quoted."""
    return f"order:{uuid.uuid4()}/ä ?"


def test_every_blind_call_is_an_effect(url, order):
    acted = [client.act(url, order, mode="blind") for _ in range(3)]
    assert [effect["id"] for effect in client.effects(url, order)] == [one.id for one in acted]
    assert client.repeated(url)[order] == 3


def test_a_repeat_under_the_same_key_gets_the_first_answer_and_does_nothing(url, order):
    first, second = (client.act(url, order, mode="keyed", key=order_key(order), body={"sum": 3}) for _ in range(2))
    assert (second.id, first.repeated, second.repeated) == (first.id, False, True)
    assert len(client.effects(url, order)) == 1
    assert order not in client.repeated(url)


def test_a_key_used_with_another_body_is_refused(url, order):
    client.act(url, order, mode="keyed", key=order_key(order), body="3 €".encode())
    assert error_of(url, order, key=order_key(order), body=b"4") == 422
    assert len(client.effects(url, order)) == 1


def test_a_key_used_for_another_business_key_is_refused(url, order):
    client.act(url, order, mode="keyed", key=order_key(order))
    assert error_of(url, order + "2", key=order_key(order)) == 422
    assert client.effects(url, order + "2") == []


def test_a_key_in_progress_is_refused_and_one_effect_comes_of_it(url, order):
    client.arm(url, order, Fault.SLOW, seconds=1)
    first = threading.Thread(target=client.act, args=(url, order), kwargs={"mode": "keyed", "key": order_key(order)})
    first.start()
    wait_until(lambda: client.calls(url, order), "the first call is in")
    assert error_of(url, order, key=order_key(order)) == 409
    first.join()
    assert client.act(url, order, mode="keyed", key=order_key(order)).repeated


def test_a_service_that_forgot_the_key_acts_again(url, order):
    client.act(url, order, mode="keyed", key=order_key(order))
    client.change_rules(url, order, forget_after=0)
    assert not client.act(url, order, mode="keyed", key=order_key(order)).repeated
    assert len(client.effects(url, order)) == 2


def test_a_keyed_call_without_a_key_is_refused(url, order):
    assert error_of(url, order, key=None) == 400
    assert client.calls(url, order) == []


def test_an_effect_shows_only_once_it_has_settled(url, order):
    client.change_rules(url, order, settles_in=60)
    acted = client.act(url, order, mode="checkable")
    assert client.ask(url, order) is None
    client.change_rules(url, order, settles_in=0)
    assert client.ask(url, order) == acted.id


@pytest.mark.parametrize(
    ("fault", "raised", "happened"),
    [
        (Fault.DROP_REQUEST, RemoteDisconnected, 0),
        (Fault.DROP_ANSWER, RemoteDisconnected, 1),
        (Fault.HANG, TimeoutError, 1),
        (Fault.ERROR_BEFORE, client.AnsweredWithError, 0),
        (Fault.ERROR_AFTER, client.AnsweredWithError, 1),
        (Fault.TOO_MANY, client.AnsweredWithError, 0),
    ],
)
def test_a_fault_looks_like_this_and_this_much_happened(url, order, fault, raised, happened):
    client.arm(url, order, fault, seconds=1)
    with pytest.raises(raised):
        client.act(url, order, mode="blind", timeout=0.3 if fault is Fault.HANG else 20)
    assert len(client.effects(url, order)) == happened
    client.act(url, order, mode="blind")
    assert len(client.effects(url, order)) == happened + 1


def test_a_slow_call_acts_after_its_caller_has_given_up(url, order):
    client.arm(url, order, Fault.SLOW, seconds=1)
    with pytest.raises(TimeoutError):
        client.act(url, order, mode="blind", timeout=0.1)
    assert client.effects(url, order) == []
    wait_until(lambda: client.effects(url, order), "it acts")


def test_a_repeat_after_a_lost_answer_gets_what_the_first_call_should_have_got(url, order):
    client.arm(url, order, Fault.DROP_ANSWER)
    with pytest.raises(RemoteDisconnected):
        client.act(url, order, mode="keyed", key=order_key(order))
    [effect] = client.effects(url, order)
    assert client.act(url, order, mode="keyed", key=order_key(order)) == client.Acted(effect["id"], repeated=True)


def test_a_fault_waits_for_the_call_it_was_armed_for(url, order):
    client.arm(url, order, Fault.ERROR_BEFORE, nth=2, status=503)
    client.act(url, order, mode="blind")
    assert error_of(url, order, mode="blind") == 503
    client.act(url, order, mode="blind")
    assert [call["status"] for call in client.calls(url, order)] == [201, 503, 201]


def test_a_fault_may_meet_every_question_and_no_act(url, order):
    client.arm(url, order, Fault.ERROR_BEFORE, nth=0, verb="ask", status=502)
    client.act(url, order, mode="checkable")
    for _ in range(2):
        with pytest.raises(client.AnsweredWithError, match="502"):
            client.ask(url, order)


@pytest.mark.parametrize(
    "how", [{"fault": "fire"}, {"fault": "hang", "nth": 1}, {"fault": "hang", "nth": 2, "hour": 3}]
)
def test_a_fault_that_could_never_happen_is_refused(url, order, how):
    client.act(url, order, mode="blind")
    with pytest.raises(client.AnsweredWithError, match="400"):
        client.arm(url, order, **how)
    client.arm(url, order, Fault.HANG, nth=2)


def test_a_caller_turned_away_is_told_for_how_long(url, order):
    client.arm(url, order, Fault.TOO_MANY, seconds=2)
    with pytest.raises(client.AnsweredWithError) as caught:
        client.act(url, order, mode="blind")
    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "2")


def test_the_book_has_the_calls_in_order_with_their_times(url, order):
    before = time.time()
    client.act(url, order, mode="checkable")
    client.ask(url, order)
    act, ask = client.calls(url, order)
    assert (act["verb"], act["mode"], act["status"], ask["verb"]) == ("act", "checkable", 201, "ask")
    assert before <= act["at"] <= ask["at"] <= time.time()
    assert act["effect"] == client.effects(url, order)[0]["id"]


def test_a_killed_oracle_comes_back_with_its_keys_its_effects_and_its_faults(tmp_path, order):
    book = tmp_path / "book.jsonl"
    with running_oracle(book) as first:
        acted = client.act(first.url, order, mode="keyed", key=order_key(order))
        client.arm(first.url, order, Fault.ERROR_BEFORE, nth=3, status=503)
        os.kill(first.pid, signal.SIGKILL)
    with book.open("ab") as file:
        file.write(b'{"kind": "eff')
    with running_oracle(book) as second:
        repeat = client.act(second.url, order, mode="keyed", key=order_key(order))
        assert repeat == client.Acted(acted.id, repeated=True)
        assert error_of(second.url, order, key=order_key(order)) == 503
        assert len(client.effects(second.url, order)) == 1


def test_many_callers_at_once_have_one_effect_under_one_key(url, order):
    callers = [
        threading.Thread(target=error_of, args=(url, order), kwargs={"key": order_key(order)}) for _ in range(12)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(client.effects(url, order)) == 1
    assert len(client.calls(url, order)) == 12


def order_key(order):
    return f"key-{order[6:42]}"


def error_of(url, order, *, mode="keyed", **how):
    """The status of the error that the call is answered with; None: none."""
    try:
        client.act(url, order, mode=mode, **how)
    except client.AnsweredWithError as error:
        return error.response.status_code
    return None
