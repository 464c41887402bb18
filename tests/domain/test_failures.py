"""How far a failed run got, from the texts that RQ stores."""

from __future__ import annotations

import pytest

from jobs.domain.failures import Reach, read_failure

RQ = "/app/.venv/lib/python3.11/site-packages/rq"


def traceback(*frames, error):
    lines = ["Traceback (most recent call last):"]
    for file, function in frames:
        lines += [f'  File "{file}", line 7, in {function}', "    some code"]
    return "\n".join([*lines, error, ""])


INSIDE_RQ = ((f"{RQ}/worker/base.py", "perform_job"), (f"{RQ}/job.py", "perform"), (f"{RQ}/job.py", "_execute"))
OURS = ("/app/shop/tasks.py", "charge")

CASES = [
    (traceback(*INSIDE_RQ, OURS, error="ValueError: boom"), Reach.RAISED, True),
    (traceback(*INSIDE_RQ, error="FileNotFoundError: no such file"), Reach.RAISED, True),
    (
        traceback(*INSIDE_RQ, error="TypeError: charge() missing 1 required positional argument: 'b'"),
        Reach.NEVER_ENTERED,
        True,
    ),
    (traceback(*INSIDE_RQ, error="TypeError: unhashable type: 'list'"), Reach.RAISED, True),
    (
        traceback(
            *INSIDE_RQ[:2], (f"{RQ}/utils.py", "import_attribute"), error="ValueError: Invalid attribute name: a.b"
        ),
        Reach.NEVER_ENTERED,
        True,
    ),
    (
        traceback(
            *INSIDE_RQ[:2],
            (f"{RQ}/utils.py", "import_attribute"),
            ("/app/shop/tasks.py", "<module>"),
            error="ImportError: no",
        ),
        Reach.NEVER_ENTERED,
        True,
    ),
    (
        traceback((f"{RQ}/job.py", "_deserialize_data"), error="rq.exceptions.DeserializationError"),
        Reach.NEVER_ENTERED,
        True,
    ),
    (
        traceback(*INSIDE_RQ[:1], (f"{RQ}/job.py", "execute_success_callback"), OURS, error="ValueError: callback"),
        Reach.RETURNED,
        True,
    ),
    (
        traceback(
            *INSIDE_RQ[:1], (f"{RQ}/worker/base.py", "handle_job_success"), error="redis.exceptions.ConnectionError"
        ),
        Reach.RETURNED,
        True,
    ),
    (
        traceback(
            *INSIDE_RQ, OURS, error="rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (180 seconds)"
        ),
        Reach.UNKNOWN,
        True,
    ),
    ("Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); ", Reach.UNKNOWN, True),
    ("Work-horse terminated unexpectedly; waitpid returned None; ", Reach.UNKNOWN, True),
    ("Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01", Reach.UNKNOWN, False),
    ("Job was stuck in intermediate queue.", Reach.UNKNOWN, False),
    ("Job stopped by user, work-horse terminated.", Reach.UNKNOWN, True),
    ("a text that nobody knows", Reach.UNKNOWN, True),
    ("", Reach.UNKNOWN, False),
    (None, Reach.UNKNOWN, False),
]


@pytest.mark.parametrize(("text", "reach", "is_dead"), CASES, ids=range(len(CASES)))
def test_a_text_tells_how_far_the_run_got(text, reach, is_dead):
    failure = read_failure(text)
    assert (failure.reach, failure.is_dead) == (reach, is_dead)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("9 (signal 9)", "killed (signal 9"),
        ("15 (signal 15)", "told to end"),
        ("11 (signal 11)", "crashed"),
        ("139 (signal 11)", "crashed"),
        ("6 (signal 6)", "ended by signal 6"),
        ("256", "exit code 1 (often Redis"),
        ("768", "exit code 3"),
        ("None", "past its time limit"),
    ],
)
def test_a_wait_status_is_said_in_plain_words(status, words):
    text = f"Work-horse terminated unexpectedly; waitpid returned {status}; "
    assert words in read_failure(text).cause


def test_a_time_limit_hidden_behind_another_error_still_leaves_the_result_unknown():
    first = traceback(
        *INSIDE_RQ, OURS, error="rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (1 seconds)"
    )
    second = traceback(*INSIDE_RQ, OURS, error="shop.ChargeFailed: no answer")
    joined = f"{first}\nDuring handling of the above exception, another exception occurred:\n\n{second}"
    assert read_failure(joined).reach is Reach.UNKNOWN


def test_a_message_that_quotes_rqs_own_text_does_not_mislead():
    text = traceback(*INSIDE_RQ, OURS, error="ValueError: waitpid returned 9 (signal 9)")
    assert read_failure(text).reach is Reach.RAISED
