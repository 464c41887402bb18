"""Which unknown results are put to a person at once, without anybody asking (protocol, table for plain jobs)."""

from __future__ import annotations

from dataclasses import replace

from jobs.domain.decisions import Case, Decision, decide_retry
from jobs.domain.evidence import Evidence
from jobs.domain.findings import UNKNOWN_RESULTS, Finding
from jobs.domain.housekeeping import decide_enqueue


def decide_notice(case: Case) -> Decision | None:
    """What the table says of the job's last run, as if it were proved dead; None when its result is not unknown.

    A review is opened where it wants one. Whether the old run may still act decides about running it again, not about
    asking. So does where RQ has put the job meanwhile, or that only RQ may queue it: the question is the run's.
    """
    finding = case.judgement.finding
    if finding not in UNKNOWN_RESULTS:
        return None
    evidence = replace(case.evidence, is_rate_limited=False)
    over = replace(case, evidence=evidence, judgement=replace(case.judgement, is_dead=True))
    if finding is Finding.LOST:
        return decide_enqueue(over)
    return decide_retry(replace(over, evidence=_as_rq_files_it(evidence)))


def _as_rq_files_it(evidence: Evidence) -> Evidence:
    """Where a run without an end ends up once RQ takes notice."""
    return replace(evidence, status="failed", listed_in=frozenset({"failed"}), queued_times=0, in_intermediate=False)
