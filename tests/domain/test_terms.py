"""What a person reads of how a job will run that is put back."""

from __future__ import annotations

import pytest

from jobs.domain.terms import retry_terms


@pytest.mark.parametrize(
    ("seconds", "left", "words"),
    [
        (180, 0, "It runs with its time limit of 3 min; its automatic retries are used up."),
        (90, None, "It runs with its time limit of 90 s; should it fail, RQ does not run it again by itself."),
        (-1, 1, "It runs without a time limit; should it fail, RQ runs it once more by itself."),
        (None, 2, "It runs with the time limit that its worker sets; should it fail, RQ runs it up to 2 times more by"),
        (10**17, 0, "It runs without a time limit"),
        (60, -3, "its automatic retries are used up"),
    ],
)
def test_terms(seconds, left, words):
    assert words in retry_terms(timeout_seconds=seconds, retries_left=left)
