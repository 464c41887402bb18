"""What the owner reads of each state that an operation can be in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from exports.models import Export
from exports.states import GOING_ON, ExportState, reason_of, state_of
from jobs.models import Operation

WORDS = {
    "accepted": "accepted",
    "queued": "accepted",
    "running": "running",
    "retry_wait": "running",
    "completed": "ready",
    "failed": "failed",
    "cancelled": "failed",
    "unknown": "failed",
}


def an_export(status: str, **columns) -> Export:
    return Export(operation=Operation(status=status), **columns)


def test_every_state_of_an_operation_has_a_word():
    assert sorted(WORDS) == sorted(Operation.Status.values)


@pytest.mark.parametrize(("status", "word"), WORDS.items())
def test_the_state_is_that_of_the_operation(status, word, now):
    assert state_of(an_export(status), now) == word
    assert (status in GOING_ON) == (word in ("accepted", "running"))


@pytest.mark.parametrize("status", ["accepted", "queued"])
def test_what_was_begun_once_never_counts_as_only_accepted_again(status, now):
    assert state_of(Export(operation=Operation(status=status, fence=1)), now) is ExportState.RUNNING


def test_what_was_ready_expires_at_its_time_and_not_before(now):
    ready = an_export("completed", expires_at=now)
    assert state_of(ready, now - timedelta(microseconds=1)) is ExportState.READY
    assert state_of(ready, now) is ExportState.EXPIRED


def test_a_file_that_was_removed_before_its_time_counts_as_expired(now):
    assert state_of(an_export("completed", expires_at=now + timedelta(days=1), removed_at=now), now) == "expired"


def test_only_what_failed_has_a_reason():
    left = "the first attempt's last words"
    assert [reason_of(an_export(status, reason=left)) for status in ("queued", "running", "completed")] == [""] * 3
    assert reason_of(an_export("failed", reason=left)) == left


@pytest.mark.parametrize("status", ["failed", "unknown"])
def test_who_waits_reads_that_we_look_into_it_even_if_the_job_could_say_nothing(status):
    assert reason_of(an_export(status)) == "It failed, and we are looking into it. You need not ask again."


def test_what_was_cancelled_says_so():
    assert reason_of(an_export("cancelled")) == "It was cancelled. Ask for it again if you still need it."
