"""The finding for every kind of evidence: the table of events, and over all evidence that doubt reads as unknown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.evidence import Evidence, WorkerSign
from jobs.domain.findings import UNKNOWN_RESULTS, Finding, judge

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
BEGAN = NOW - timedelta(seconds=30)
LATER = NOW + timedelta(seconds=60)
EARLIER = NOW - timedelta(seconds=10)
OVER = BEGAN + timedelta(seconds=180 + 90)
"""When a run that began then and may take three minutes is over, whatever became of it."""

ABANDONED = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01"
STUCK = "Job was stuck in intermediate queue."
STOPPED = "Job stopped by user, work-horse terminated."


def horse_ended(status):
    return f"Work-horse terminated unexpectedly; waitpid returned {status}; "


def raised(error, *path):
    rq = "/app/.venv/lib/python3.11/site-packages/rq"
    frames = [("worker/base.py", "perform_job"), ("job.py", "perform"), ("job.py", "_execute"), *path]
    lines = [f'  File "{rq}/{file}", line 7, in {function}' for file, function in frames]
    return "\n".join(["Traceback (most recent call last):", *lines, error, ""])


KNOWN = raised("ValueError: boom", ("../tasks.py", "charge"))
CALLBACK = KNOWN.replace('job.py", line 7, in perform\n', 'job.py", line 7, in execute_success_callback\n')
MISSING = raised("ValueError: Invalid attribute name: a.b", ("job.py", "func"), ("utils.py", "import_attribute"))
UNREAD = raised("rq.exceptions.DeserializationError", ("job.py", "args"))
TIMEOUT = raised("rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (180 seconds)")


def job(status: str | None, *listed_in: str, **facts: Any) -> Evidence:
    """A job that ran and may take three minutes."""
    ran: dict[str, Any] = {"started_at": BEGAN, "timeout_seconds": 180, "last_sign_of_life": BEGAN}
    return Evidence(exists=True, status=status, listed_in=frozenset(listed_in), **{**ran, **facts})


def failed(text: str | None, **facts: Any) -> Evidence:
    return job("failed", "failed", **{"newest_kind": "failed", "newest_text": text, "newest_at": NOW, **facts})


def waiting(status: str, *listed_in: str, **facts: Any) -> Evidence:
    """A job that has not run."""
    return job(status, *listed_in, **{"started_at": None, "last_sign_of_life": None, **facts})


GONE = Evidence(exists=False, status=None, listed_in=frozenset({"failed"}))
DONE = {"newest_kind": "successful", "succeeded_at": EARLIER}
LEASED = {"executions": 1, "lease_until": LATER}
LAPSED = {"executions": 1, "lease_until": EARLIER}

EVENTS = {
    # event: evidence, finding, words of the sentence, whether the old run is proved dead
    "exception in the function, no retries left": (
        failed(KNOWN),
        *(Finding.FAILED_KNOWN, "It failed: the function raised an error.", True),
    ),
    "the same, to be retried at once": (
        job("queued", queued_times=1, retries_left=1),
        *(Finding.QUEUED, "It waits in its queue to run again.", True),
    ),
    "the same, to be retried later": (
        job("scheduled", "scheduled", retries_left=1),
        *(Finding.RETRY_PENDING, "RQ will run it again by itself", True),
    ),
    "function not importable": (failed(MISSING), Finding.NEVER_STARTED, "It never began: the function was not", True),
    "arguments not deserialisable": (failed(UNREAD), Finding.NEVER_STARTED, "could not read the stored arg", True),
    "return value not serialisable": (job("finished", "finished", **DONE), Finding.FINISHED, "It finished.", True),
    "time limit": (failed(TIMEOUT), Finding.RESULT_UNKNOWN, "cut off at an arbitrary point", True),
    "time limit swallowed": (job("finished", "finished", **DONE), Finding.FINISHED, "It finished.", True),
    "time limit ignored": (failed(horse_ended("None")), Finding.RESULT_UNKNOWN, "ran on past its time limit", True),
    "success callback raises": (failed(CALLBACK), Finding.DONE_BUT_MARKED_FAILED, "the function returned", True),
    "horse killed": (failed(horse_ended("9 (signal 9)")), Finding.RESULT_UNKNOWN, "killed (signal 9", True),
    "horse told to end": (failed(horse_ended("15 (signal 15)")), Finding.RESULT_UNKNOWN, "(signal 15", True),
    "horse crashed": (failed(horse_ended("11 (signal 11)")), Finding.RESULT_UNKNOWN, "crashed (signal 11", True),
    "horse exits with 3": (failed(horse_ended("768")), Finding.RESULT_UNKNOWN, "exit code 3", True),
    "horse exits with 1": (failed(horse_ended("256")), Finding.RESULT_UNKNOWN, "exit code 1 (often Redis", True),
    "horse exits with 0, just now": (
        job("started", worker=WorkerSign.IDLE, **LEASED),
        *(Finding.RUNNING, "It is running.", False),
    ),
    "horse exits with 0, a while ago": (
        job("started", worker=WorkerSign.IDLE, **LAPSED),
        *(Finding.LEASE_EXPIRED, "its process ended without a word", True),
    ),
    "worker stopped warm": (job("finished", "finished", **DONE), Finding.FINISHED, "It finished.", True),
    "worker stopped cold": (
        job("started", worker=WorkerSign.DIED, **LEASED),
        *(Finding.WORKER_GONE, "its worker has signed off, and its process may live on", False),
    ),
    "worker stopped cold, lease over": (
        job("started", worker=WorkerSign.DIED, **LAPSED),
        *(Finding.LEASE_EXPIRED, "its worker has signed off, and its lease ran out", False),
    ),
    "worker killed, its record gone": (
        job("started", worker=WorkerSign.MISSING, **LEASED),
        *(Finding.WORKER_GONE, "its worker is gone without a word", False),
    ),
    "worker and horse killed": (
        job("started", worker=WorkerSign.ALIVE, **LAPSED),
        *(Finding.LEASE_EXPIRED, "its lease ran out and RQ has not noticed yet", False),
    ),
    "worker and horse killed, all records gone": (
        job("started", worker=WorkerSign.MISSING),
        *(Finding.LEASE_EXPIRED, "no run of it is on record", False),
    ),
    "worker and horse killed, cleaned up": (
        failed(ABANDONED),
        *(Finding.RESULT_UNKNOWN, "stopped giving signs of life", False),
    ),
    "cleaned up, then finished by the orphan": (
        job("finished", "finished", "failed", **DONE),
        *(Finding.DONE_BUT_MARKED_FAILED, "It finished, and is filed as failed", True),
    ),
    "cleaned up while the orphan runs": (
        failed(ABANDONED, **LEASED),
        *(Finding.RESULT_UNKNOWN, "A run of it still holds a lease", False),
    ),
    "cleaned up, and a lease outlives the limit": (
        failed(ABANDONED, started_at=NOW - timedelta(hours=1), **LEASED),
        *(Finding.RESULT_UNKNOWN, "A run of it still holds a lease", False),
    ),
    "cleaned up and queued again while the orphan runs": (
        job("queued", queued_times=1, retries_left=1, **LAPSED),
        *(Finding.QUEUED, "A run of it never reported its end.", False),
    ),
    "a second run begins while the first goes on": (
        job("started", executions=2, lease_until=LATER),
        *(Finding.RUNNING, "2 runs of it are on record", False),
    ),
    "it finished and is queued again": (
        job("finished", "finished", queued_times=1, **DONE),
        *(Finding.FINISHED, "It also stands in its queue, so it will run again.", True),
    ),
    "it runs and is queued again": (
        job("started", queued_times=1, **LEASED),
        *(Finding.RUNNING, "It also stands in its queue", False),
    ),
    "stopped": (
        job("stopped", "failed", newest_kind="failed", newest_text=STOPPED),
        *(Finding.STOPPED, "somebody stopped it while it ran", True),
    ),
    "stopped when its success was saved": (
        job("stopped", "failed", newest_kind="failed", newest_text=STOPPED, succeeded_at=EARLIER),
        *(Finding.DONE_BUT_MARKED_FAILED, "just before somebody stopped it", True),
    ),
    "lost between queue and worker": (waiting("queued"), Finding.LOST, "Nothing of it ran.", True),
    "lost between queue and a retry": (
        job("queued", retries_left=1),
        *(Finding.LOST, "It may have run before.", False),
    ),
    "lost with a run that never reported": (waiting("queued", **LAPSED), Finding.LOST, "It may have run", False),
    "taken by a worker that has registered its run": (
        waiting("queued", **LEASED),
        *(Finding.RUNNING, "A worker is just beginning it.", False),
    ),
    "taken by a worker that has not begun": (
        waiting("queued", in_intermediate=True),
        *(Finding.QUEUED, "A worker has taken it from its queue and not begun it yet", False),
    ),
    "stuck on the way": (
        failed(STUCK, started_at=None, last_sign_of_life=None),
        *(Finding.RESULT_UNKNOWN, "which can be mistaken", False),
    ),
    "its data has run out": (GONE, Finding.GONE, "only its id is still listed", True),
    "half a hash": (
        Evidence(exists=True, status=None, last_sign_of_life=BEGAN),
        *(Finding.UNRECOGNISED, "a job deleted while it ran", True),
    ),
    "finished with a run left over": (
        job("finished", "finished", **DONE, **LEASED),
        *(Finding.FINISHED, "A run of it still holds a lease", False),
    ),
    "finished with a run left over that lapsed": (
        job("finished", "finished", **DONE, **LAPSED),
        *(Finding.FINISHED, "A run of it never reported its end.", False),
    ),
    "finished with a run left over, and then filed as failed": (
        failed(ABANDONED, succeeded_at=EARLIER),
        *(Finding.DONE_BUT_MARKED_FAILED, "RQ recorded its success, and is filed as failed", True),
    ),
    "cancelled while it ran, and finished": (
        job("finished", "finished", "canceled", **DONE),
        *(Finding.FINISHED, "It was cancelled, which does not end a run.", True),
    ),
    "cancelled while it runs": (
        job("canceled", "canceled", **LEASED),
        *(Finding.CANCELED, "A run of it still holds a lease", False),
    ),
    "cancelled while it ran, and lost": (
        job("canceled", "canceled", **LAPSED),
        *(Finding.RESULT_UNKNOWN, "cancelled while it ran, which does not end a run, and its lease ran out", False),
    ),
    "cancelled while it ran, lost, and over by its time limit": (
        job("canceled", "canceled", **LAPSED, started_at=NOW - timedelta(seconds=180 + 91)),
        *(Finding.RESULT_UNKNOWN, "cancelled while it ran", True),
    ),
    "cancelled after its end, with a run left over": (
        job("canceled", "canceled", **LAPSED, newest_kind="failed", newest_text=KNOWN, newest_at=EARLIER),
        *(Finding.CANCELED, "It was cancelled while it ran", False),
    ),
    "cancelled while it ran, and to be retried": (
        job("scheduled", "scheduled", "canceled", retries_left=1),
        *(Finding.RETRY_PENDING, "it will run all the same", True),
    ),
    "repeated": (
        job("scheduled", "scheduled", "finished", repeats_left=2, **DONE),
        *(Finding.SCHEDULED, "it is a repeated job", True),
    ),
    "repeated so rarely that its result has run out": (
        job("scheduled", "scheduled", repeats_left=2),
        *(Finding.SCHEDULED, "it is a repeated job", True),
    ),
    "a repeated job that failed and is to be retried": (
        job("scheduled", "scheduled", repeats_left=2, retries_left=1),
        *(Finding.RETRY_PENDING, "RQ will run it again by itself", True),
    ),
    "it returned a Retry once too often": (
        failed(None, newest_kind="max_retries_exceeded"),
        *(Finding.FAILED_KNOWN, "its retries are used up", True),
    ),
    "an old failed entry of a queued job": (
        waiting("queued", "failed", queued_times=1),
        *(Finding.QUEUED, "An old entry still lists it as failed.", True),
    ),
    "queued twice": (waiting("queued", queued_times=2), Finding.QUEUED, "in its queue 2 times", True),
    "in a queue too long to look": (
        waiting("queued", queued_times=None),
        Finding.QUEUED,
        "too long to look whether it does",
        True,
    ),
    "scheduled": (waiting("scheduled", "scheduled"), Finding.SCHEDULED, "scheduled for later", True),
    "failed without a text": (failed(None, newest_kind=None), Finding.RESULT_UNKNOWN, "recorded no error text", False),
    "created": (waiting("created"), Finding.CREATED, "never put on a queue", True),
    "deferred": (waiting("deferred", "deferred"), Finding.DEFERRED, "waits for other jobs", True),
    "canceled": (waiting("canceled", "canceled"), Finding.CANCELED, "will not run", True),
    "rate limited": (waiting("rate_limited"), Finding.QUEUED, "under its rate limit", True),
    "ready": (waiting("ready_to_enqueue"), Finding.QUEUED, "about to be put on its queue", True),
    "a state of an RQ to come": (waiting("invented"), Finding.UNRECOGNISED, "“invented”", False),
}


@pytest.mark.parametrize("event", list(EVENTS))
def test_an_event_has_its_finding_its_sentence_and_its_proof_of_death(event):
    evidence, finding, words, is_dead = EVENTS[event]
    judgement = judge(evidence, NOW)
    assert (judgement.finding, judgement.is_dead) == (finding, is_dead)
    assert words in judgement.sentence


def test_most_jobs_need_no_more_than_one_sentence():
    for evidence in (failed(KNOWN), waiting("queued", queued_times=1), job("finished", "finished", **DONE)):
        assert judge(evidence, NOW).sentence.count(".") == 1


def test_the_success_of_an_earlier_run_proves_nothing_about_this_one():
    older = failed(horse_ended("9 (signal 9)"), succeeded_at=BEGAN - timedelta(seconds=1))
    assert judge(older, NOW).finding is Finding.RESULT_UNKNOWN
    unfiled = failed(None, newest_kind="successful", succeeded_at=BEGAN - timedelta(seconds=1))
    assert judge(unfiled, NOW).finding is Finding.RESULT_UNKNOWN


@pytest.mark.parametrize(
    "evidence",
    [failed(ABANDONED), job("started", worker=WorkerSign.DIED, **LEASED), job("queued", retries_left=1)],
    ids=["abandoned", "worker gone", "lost"],
)
def test_a_run_that_nobody_saw_ending_is_dead_only_after_its_time(evidence):
    assert judge(evidence, NOW).dead_after == OVER
    assert not judge(evidence, OVER).is_dead
    assert judge(replace(evidence, lease_until=None), OVER + timedelta(seconds=1)).is_dead


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout_seconds": -1},
        {"timeout_seconds": None},
        {"timeout_seconds": 10**17},
        {"started_at": None, "newest_at": None},
    ],
)
def test_a_run_without_end_or_start_is_never_proved_dead_by_time(changes):
    assert not judge(failed(ABANDONED, **changes), NOW + timedelta(days=300)).is_dead


def test_of_a_run_whose_start_was_cleared_the_filing_counts():
    assert judge(failed(ABANDONED, started_at=None), NOW).dead_after == NOW + timedelta(seconds=270)


def test_the_proof_of_one_runs_end_is_none_for_the_run_beside_it():
    beside = failed(KNOWN, **LAPSED)
    assert (judge(beside, NOW).is_dead, judge(beside, NOW).dead_after) == (False, OVER)
    assert judge(beside, OVER + timedelta(seconds=1)).is_dead


def test_the_last_sign_of_life_belongs_to_a_run_whose_end_nobody_saw():
    assert judge(failed(ABANDONED), NOW).last_sign_of_life == BEGAN
    assert judge(job("started", worker=WorkerSign.DIED, **LEASED), NOW).last_sign_of_life == BEGAN
    assert judge(failed(KNOWN), NOW).last_sign_of_life is None


TRACES = {
    "started_at": BEGAN,
    "newest_kind": "failed",
    "succeeded_at": BEGAN,
    "retries_left": 0,
    "last_sign_of_life": BEGAN,
    "executions": 1,
    "lease_until": LATER,
    "earlier_runs_may_have_acted": True,
}


def test_a_job_without_any_trace_of_a_run_never_began():
    assert waiting("queued").never_began
    assert not GONE.never_began


@pytest.mark.parametrize("name", list(TRACES))
def test_one_trace_of_a_run_is_enough_to_doubt_that_it_never_began(name):
    assert not replace(waiting("queued"), **{name: TRACES[name]}).never_began


# Over all evidence ----------------------------------------------------------------------------------------------------

TIMES = st.none() | st.sampled_from([BEGAN - timedelta(hours=1), BEGAN, EARLIER, NOW, LATER])
STATUSES = ("failed", "stopped", "started", "queued", "scheduled", "finished", "deferred", "canceled", "created")
TEXTS = (KNOWN, CALLBACK, MISSING, UNREAD, TIMEOUT, ABANDONED, STUCK, STOPPED, horse_ended("9 (signal 9)"), "?", "")
evidences = st.builds(
    Evidence,
    exists=st.booleans(),
    status=st.none() | st.sampled_from([*STATUSES, "rate_limited", "ready_to_enqueue"]) | st.text(max_size=50),
    listed_in=st.frozensets(st.sampled_from(["failed", "finished", "scheduled", "deferred", "canceled"])),
    queued_times=st.none() | st.integers(0, 3),
    in_intermediate=st.booleans(),
    newest_kind=st.none() | st.sampled_from(["successful", "failed", "stopped", "retried", "max_retries_exceeded"]),
    newest_text=st.none() | st.sampled_from(TEXTS),
    newest_at=TIMES,
    succeeded_at=TIMES,
    enqueued_at=TIMES,
    started_at=TIMES,
    earlier_runs_may_have_acted=st.booleans(),
    timeout_seconds=st.none() | st.sampled_from([-1, 0, 180, 10**17]),
    retries_left=st.none() | st.integers(0, 3),
    repeats_left=st.none() | st.integers(0, 3),
    last_sign_of_life=TIMES,
    executions=st.integers(0, 3),
    lease_until=TIMES,
    worker=st.sampled_from(WorkerSign),
)


@given(evidences)
def test_every_evidence_has_a_finding_and_whole_sentences(evidence):
    judgement = judge(evidence, NOW)
    assert judgement.sentence[0].isupper() and judgement.sentence.endswith(".")
    assert "  " not in judgement.sentence and ".." not in judgement.sentence
    assert judgement.dead_after is None or not judgement.is_dead


@given(evidences)
def test_what_holds_a_live_lease_is_never_dead(evidence):
    assert not judge(replace(evidence, lease_until=LATER), NOW).is_dead


@given(evidences)
def test_only_a_text_that_proves_it_is_a_known_failure(evidence):
    finding = judge(evidence, NOW).finding
    if finding is Finding.NEVER_STARTED:
        assert evidence.newest_text in (MISSING, UNREAD)
    if finding is Finding.FAILED_KNOWN:
        assert evidence.newest_text == KNOWN or evidence.newest_kind == "max_retries_exceeded"
    if finding is Finding.DONE_BUT_MARKED_FAILED:
        assert evidence.succeeded_at or evidence.newest_text == CALLBACK or evidence.status == "finished"


@given(evidences)
def test_less_evidence_never_makes_a_finding_more_certain(evidence):
    """Without its text, its worker and its times, a failed run is of unknown result and not known to be over."""
    bare = replace(
        evidence,
        exists=True,
        status="failed",
        newest_kind=None,
        newest_text=None,
        newest_at=None,
        succeeded_at=None,
        started_at=None,
        worker=WorkerSign.UNKNOWN,
    )
    assert (judge(bare, NOW).finding, judge(bare, NOW).is_dead) == (Finding.RESULT_UNKNOWN, False)


@given(evidences)
def test_what_counts_as_running_has_no_known_result(evidence):
    finding = judge(replace(evidence, exists=True, status="started"), NOW).finding
    assert finding is Finding.RUNNING or finding in UNKNOWN_RESULTS


@given(evidences)
def test_time_proves_death_and_takes_no_proof_back(evidence):
    if judge(evidence, NOW).is_dead:
        assert judge(evidence, NOW + timedelta(days=1)).is_dead
