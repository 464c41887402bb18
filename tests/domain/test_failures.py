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


PERFORM = (f"{RQ}/worker/base.py", "perform_job")
INSIDE_RQ = (PERFORM, (f"{RQ}/job.py", "perform"), (f"{RQ}/job.py", "_execute"))
IMPORT = (*INSIDE_RQ, (f"{RQ}/job.py", "func"), (f"{RQ}/utils.py", "import_attribute"))
OURS = ("/app/shop/tasks.py", "charge")
LIBRARY = ("/app/.venv/lib/python3.11/site-packages/tasklib/wrap.py", "wrapper")
UNFIT = "TypeError: charge() missing 1 required positional argument: 'b'"
SAFETY = "/app/.venv/lib/python3.11/site-packages/jobs/safety"
CALLS, INSPECT = f"{SAFETY}/calls.py", "/usr/lib/python3.11/inspect.py"
LAYER = (
    (f"{SAFETY}/operation.py", "run"),
    (f"{SAFETY}/operation.py", "_run"),
    (f"{SAFETY}/running.py", "run_delivery"),
)
RUNS = tuple((f"{SAFETY}/running.py", name) for name in ("_attempt", "_run_body", "<lambda>"))
BIND = (CALLS, "bind")
UNKNOWN = "TypeError: got an unexpected keyword argument 'colour'"
NOT_READ = "rq.exceptions.DeserializationError"
TIMEOUT = "rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (180 seconds)"
CALLBACK = (PERFORM, (f"{RQ}/job.py", "execute_failure_callback"))


def chain(*texts, sentence="During handling of the above exception, another exception occurred"):
    return f"\n{sentence}:\n\n".join(texts)


RAISED = traceback(*INSIDE_RQ, OURS, error="ValueError: boom")
RETURNED = traceback(PERFORM, (f"{RQ}/job.py", "execute_success_callback"), OURS, error="ValueError: callback")

CASES = {
    "the function raises": (RAISED, Reach.RAISED),
    "a builtin function raises": (traceback(*INSIDE_RQ, error="FileNotFoundError: no such file"), Reach.RAISED),
    "a library's function raises": (traceback(*INSIDE_RQ, LIBRARY, error="ValueError: boom"), Reach.RAISED),
    "the arguments do not fit": (traceback(*INSIDE_RQ, error=UNFIT), Reach.NEVER_ENTERED),
    "the arguments do not fit inside": (traceback(*INSIDE_RQ, OURS, error=UNFIT), Reach.RAISED),
    "the layer cannot bind the call": (
        traceback(*INSIDE_RQ, *LAYER, BIND, (INSPECT, "bind"), (INSPECT, "_bind"), error=UNKNOWN),
        Reach.NEVER_ENTERED,
    ),
    "the layer takes an argument for no id": (
        traceback(*INSIDE_RQ, *LAYER, BIND, (CALLS, "_require_id"), error="jobs.safety.errors.ArgumentsRefused: no id"),
        Reach.NEVER_ENTERED,
    ),
    "the job itself submits a call that does not fit": (
        traceback(*INSIDE_RQ, *LAYER, *RUNS, OURS, (f"{SAFETY}/operation.py", "_submit"), BIND, error=UNKNOWN),
        Reach.RAISED,
    ),
    "the job raises what binding raises": (traceback(*INSIDE_RQ, *LAYER, *RUNS, OURS, error=UNKNOWN), Reach.RAISED),
    "a decorator of the application's own is called before the layer": (
        traceback(*INSIDE_RQ, OURS, *LAYER, BIND, error=UNKNOWN),
        Reach.RAISED,
    ),
    "a wrapper that may have acted calls wrongly": (traceback(*INSIDE_RQ, LIBRARY, error=UNFIT), Reach.RAISED),
    "an error of the same type at the call": (
        traceback(*INSIDE_RQ, error="TypeError: unhashable type: 'list'"),
        Reach.RAISED,
    ),
    "no such function": (traceback(*IMPORT, error="ValueError: Invalid attribute name: a.b"), Reach.NEVER_ENTERED),
    "its module fails": (
        traceback(*IMPORT, ("/app/shop/tasks.py", "<module>"), error="ImportError: no"),
        Reach.NEVER_ENTERED,
    ),
    "no such method": (
        traceback(*INSIDE_RQ, (f"{RQ}/job.py", "func"), error="AttributeError: charge"),
        Reach.NEVER_ENTERED,
    ),
    "the arguments cannot be read": (
        chain(
            traceback((f"{RQ}/job.py", "_deserialize_data"), error="ModuleNotFoundError: No module named 'shop'"),
            traceback(
                PERFORM,
                (f"{RQ}/worker/base.py", "prepare_job_execution"),
                (f"{RQ}/job.py", "func_name"),
                (f"{RQ}/job.py", "_deserialize_data"),
                error=NOT_READ,
            ),
            sentence="The above exception was the direct cause of the following exception",
        ),
        Reach.NEVER_ENTERED,
    ),
    "Redis is lost before the call": (
        traceback(
            PERFORM, (f"{RQ}/worker/base.py", "prepare_job_execution"), error="redis.exceptions.ConnectionError: gone"
        ),
        Reach.NEVER_ENTERED,
    ),
    "the function itself imports what is not there": (
        traceback(*INSIDE_RQ, OURS, (f"{RQ}/utils.py", "import_attribute"), error="ValueError: Invalid attribute name"),
        Reach.RAISED,
    ),
    "a method of the function's own, called as RQ calls its, makes a wrong call": (
        traceback(*INSIDE_RQ, ("/app/shop/gateway.py", "_execute"), error=UNFIT),
        Reach.RAISED,
    ),
    "the function itself reads another job": (
        traceback(*INSIDE_RQ, OURS, (f"{RQ}/job.py", "_deserialize_data"), error=NOT_READ),
        Reach.RAISED,
    ),
    "the function itself runs a job of which the callback fails": (
        traceback(*INSIDE_RQ, OURS, (f"{RQ}/job.py", "execute_success_callback"), error="ValueError: callback"),
        Reach.RAISED,
    ),
    "the success callback raises": (RETURNED, Reach.RETURNED),
    "the success callback is not found": (
        traceback(
            PERFORM,
            (f"{RQ}/callbacks.py", "execute_success_callback"),
            (f"{RQ}/job.py", "success_callback"),
            (f"{RQ}/utils.py", "import_attribute"),
            error="ValueError: Invalid attribute name: a.b",
        ),
        Reach.RETURNED,
    ),
    "the success callback runs into its limit": (
        traceback(PERFORM, (f"{RQ}/job.py", "execute_success_callback"), OURS, error=TIMEOUT),
        Reach.RETURNED,
    ),
    "the result is not saved": (
        traceback(PERFORM, (f"{RQ}/worker/base.py", "handle_job_success"), error="redis.exceptions.ConnectionError"),
        Reach.RETURNED,
    ),
    "the failure callback is not found": (
        chain(RAISED, traceback(*CALLBACK, IMPORT[-1], error="ValueError: Invalid attribute name: a.b")),
        Reach.RAISED,
    ),
    "the failure callback runs into its limit": (
        chain(RAISED, traceback(*CALLBACK, OURS, error=TIMEOUT)),
        Reach.RAISED,
    ),
    "both callbacks raise": (chain(RETURNED, traceback(*CALLBACK, OURS, error="ValueError: no")), Reach.RETURNED),
    "the failure callback hides the error": (traceback(*CALLBACK, OURS, error="ValueError: no"), Reach.UNKNOWN),
    "it runs into its limit": (traceback(*INSIDE_RQ, OURS, error=TIMEOUT), Reach.UNKNOWN),
    "it runs into its limit and raises another error": (
        chain(traceback(OURS, error=TIMEOUT), traceback(*INSIDE_RQ, OURS, error="shop.ChargeFailed: no answer")),
        Reach.UNKNOWN,
    ),
    "its module takes longer than its limit": (traceback(*IMPORT, error=TIMEOUT), Reach.UNKNOWN),
    "RQ fails between start and call": (traceback(*INSIDE_RQ[:2], error="AssertionError"), Reach.UNKNOWN),
    "a traceback that another one quotes": (
        chain(
            traceback(OURS, error="shop.Remote: it said"),
            traceback(*IMPORT, error="ValueError: Invalid attribute name: a.b"),
            traceback(*INSIDE_RQ, OURS, error="shop.RemoteFailed: see above"),
        ),
        Reach.RAISED,
    ),
    "a message that quotes RQ's own text": (
        traceback(*INSIDE_RQ, OURS, error="ValueError: waitpid returned 9 (signal 9)"),
        Reach.RAISED,
    ),
    "a traceback that no worker wrote": (traceback(OURS, error="ValueError: boom"), Reach.RAISED),
    "the worker kills an overrunner": (
        "Work-horse terminated unexpectedly; waitpid returned None; ",
        Reach.UNKNOWN,
    ),
    "somebody stops it": ("Job stopped by user, work-horse terminated.", Reach.UNKNOWN),
}


@pytest.mark.parametrize("event", list(CASES))
def test_a_text_tells_how_far_the_run_got_and_that_it_ended(event):
    text, reach = CASES[event]
    failure = read_failure(text)
    assert (failure.reach, failure.is_dead) == (reach, True)


@pytest.mark.parametrize(
    "text",
    [
        "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01",
        "Job was stuck in intermediate queue.",
        "a text that nobody knows",
        traceback((f"{RQ}/worker/base.py", "work"), error="redis.exceptions.ConnectionError"),
        "",
        None,
    ],
    ids=["abandoned", "stuck", "unheard of", "of RQ alone", "empty", "missing"],
)
def test_a_text_of_somebody_else_than_the_run_proves_neither_result_nor_end(text):
    failure = read_failure(text)
    assert (failure.reach, failure.is_dead) == (Reach.UNKNOWN, False)


def test_a_limit_inside_an_exception_group_leaves_the_result_unknown():
    group = "\n".join(
        (
            "  + Exception Group Traceback (most recent call last):",
            *(f'  |   File "{file}", line 7, in {function}' for file, function in (*INSIDE_RQ, OURS)),
            "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
            "  +-+---------------- 1 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "/app/shop/tasks.py", line 9, in wait',
            f"    | {TIMEOUT}",
            "    +------------------------------------",
        )
    )
    assert read_failure(group).reach is Reach.UNKNOWN
    assert read_failure(group.replace(TIMEOUT, "ValueError: boom")).reach is Reach.RAISED


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("9 (signal 9)", "killed (signal 9"),
        ("15 (signal 15)", "told to end"),
        ("11 (signal 11)", "crashed"),
        ("139 (signal 11)", "crashed"),
        ("6 (signal 6)", "gave itself up"),
        ("134 (signal 6)", "gave itself up"),
        ("1 (signal 1)", "its terminal"),
        ("12 (signal 12)", "ended by signal 12"),
        ("256", "exit code 1 (often Redis"),
        ("768", "exit code 3"),
        ("None", "past its time limit"),
    ],
)
def test_a_wait_status_is_said_in_plain_words(status, words):
    text = f"Work-horse terminated unexpectedly; waitpid returned {status}; "
    assert words in read_failure(text).cause
