"""On which terms a job that is put back on its queue will run."""

from __future__ import annotations

from jobs.domain.findings import LONGEST_LIMIT_SECONDS


def retry_terms(*, timeout_seconds: int | None, retries_left: int | None, is_layered: bool = False) -> str:
    """One sentence: the time limit that it gets, and what follows should it fail again. Units: seconds, runs.

    `is_layered`: then not RQ but its operation has it run again, as far as that is safe.
    """
    after = "should it fail, its operation decides what is next" if is_layered else _after_a_failure(retries_left)
    return f"It runs {_limit(timeout_seconds)}; {after}."


def _limit(seconds: int | None) -> str:
    if seconds is None:
        return "with the time limit that its worker sets"
    if not 0 < seconds <= LONGEST_LIMIT_SECONDS:
        return "without a time limit"
    return f"with its time limit of {seconds // 60} min" if seconds % 60 == 0 else f"with its time limit of {seconds} s"


def _after_a_failure(retries_left: int | None) -> str:
    if retries_left is None:
        return "should it fail, RQ does not run it again by itself"
    if retries_left <= 0:
        return "its automatic retries are used up"
    times = "once more" if retries_left == 1 else f"up to {retries_left} times more"
    return f"should it fail, RQ runs it {times} by itself"
