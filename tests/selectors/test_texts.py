"""What of a call and of an error may reach a page."""

from __future__ import annotations

import pickle
import zlib

from jobs.broker.payload import read_call
from jobs.broker.records import Result, ResultKind
from jobs.domain.calls import Unreadable
from jobs.domain.excerpts import Excerpt
from jobs.models import JobType
from jobs.selectors.texts import arguments_of, error_text, masks_of, one_line

TRACE = """Traceback (most recent call last):
  File "/app/shop/tasks.py", line 7, in charge
    raise ValueError(note)
ValueError: order 7 of CANARY2 failed
"""


def stored(*args, **kwargs):
    return zlib.compress(pickle.dumps(("shop.tasks.charge", None, args, kwargs)))


def failed_with(text):
    return Result(
        id="1-1",
        kind=ResultKind.FAILED,
        created_at=None,
        worker_name=None,
        execution_id=None,
        started_at=None,
        ended_at=None,
        error=Excerpt(text, total_characters=len(text)),
    )


def shown(call, job_type=None):
    return [one.value for one in arguments_of(call, job_type)]


def test_the_first_id_is_shown_and_the_rest_is_not():
    assert shown(read_call(stored(7, "CANARY2", order_id=8, token="CANARY1"))) == ["7", None, "8", None]


def test_a_declaration_says_which_arguments_are_ids():
    declared = JobType(path="shop.tasks.charge", id_parameters=["#2"])
    assert shown(read_call(stored(7, "A-4711")), declared) == [None, "A-4711"]


def test_of_a_call_that_was_cut_nothing_is_shown():
    """The inside of a first argument looks like the first argument once the rest is missing."""
    cut = read_call(stored((4111, "x" * 90_000)), max_bytes=64 * 1024)
    assert not isinstance(cut, Unreadable) and not cut.complete
    assert shown(cut) == []


def test_hidden_values_are_masked_in_the_page_and_in_the_line():
    masks = masks_of(read_call(stored(7, "CANARY2")), None)
    shown_text, line = error_text(failed_with(TRACE), masks, keep=1000), one_line(failed_with(TRACE), masks)
    assert "CANARY2" not in shown_text.text + line
    assert "order 7 of" in shown_text.text and line.startswith("ValueError: order 7 of")


def test_where_the_call_cannot_be_read_no_message_is_shown_but_the_place_is():
    masks = masks_of(Unreadable("not a pickle or JSON call"), None)
    shown_text, line = error_text(failed_with(TRACE), masks, keep=1000), one_line(failed_with(TRACE), masks)
    assert "order 7" not in shown_text.text + line
    assert "/app/shop/tasks.py" in shown_text.text and line.startswith("ValueError")


def test_what_rq_itself_says_is_shown_even_then():
    killed = failed_with("Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); ")
    assert "waitpid returned 9" in one_line(killed, masks_of(Unreadable("gone"), None))
