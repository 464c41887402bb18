"""Two at the same job at the same moment, 300 times: one wins, nothing is lost, nothing is done twice."""

from __future__ import annotations

import pytest

from tests.races.course import QUEUE, Model, Place, ours, place, race, rqs
from tests.support.acts import cancel, delete, requeue

QUEUED, FAILED, GONE = Place("queued", 1, False), Place("failed", 0, True), Place(None, 0, False)


@pytest.fixture
def failed(real_rq, redis_client) -> Model:
    real_rq.fail("fx.boom", 7, job_id="model")
    return Model(redis_client, "model")


@pytest.fixture
def queued(real_rq, redis_client) -> Model:
    real_rq.enqueue("fx.effect", 7, job_id="model")
    return Model(redis_client, "model")


def both_came_first(rounds):
    """Each side came first at least once, and the two really met."""
    return {each.ours_came_first for each in rounds} == {True, False} and any(each.overlapped for each in rounds)


# Two of ours ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "losing"),
    [(requeue, requeue, ["changed"]), (requeue, delete, ["changed", "gone"]), (delete, delete, ["gone"])],
    ids=["retry-retry", "retry-delete", "delete-delete"],
)
def test_of_two_of_our_acts_one_is_carried_out(redis_client, failed, one, other, losing):
    after = {requeue: QUEUED, delete: GONE}
    rounds = []
    with ours(lambda job_id: other(failed.target(job_id, "-other"))) as rival:
        for each in race(lambda job_id: one(failed.target(job_id, "-one")), rival, failed.failed):
            winner, loser = (one, each.theirs) if each.ours == "done" else (other, each.ours)
            assert "done" in (each.ours, each.theirs) and loser in losing
            assert place(redis_client, each.job_id) == after[winner]
            rounds.append(each)
    assert both_came_first(rounds)


# One of ours and one of RQ's ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [requeue, delete])
def test_against_rqs_own_requeue_one_is_carried_out(real_rq, redis_client, failed, act):
    """RQ takes the job out of the failed ones first, and then writes it anew: in between it is in no place at all, and
    ours leaves it alone.
    """
    rounds = []
    with rqs(real_rq, redis_client, "requeue") as rival:
        for each in race(lambda job_id: act(failed.target(job_id)), rival, failed.failed):
            assert (each.ours == "done") != (each.theirs == "done")
            assert each.ours in ("done", "changed")
            won_by_a_delete = each.ours == "done" and act is delete
            assert place(redis_client, each.job_id) == (GONE if won_by_a_delete else QUEUED)
            rounds.append(each)
    assert both_came_first(rounds)


def test_against_a_cleanup_that_drops_old_failures_a_retry_is_whole_or_not_at_all(real_rq, redis_client, failed):
    rounds = []
    with rqs(real_rq, redis_client, "clean") as rival:
        old = {"expires_at": 1}
        for each in race(
            lambda job_id: requeue(failed.target(job_id)), rival, lambda job_id: failed.failed(job_id, **old)
        ):
            # What is dropped from the list keeps its hash until its time to live is over; nothing runs it.
            dropped = Place("failed", 0, False)
            assert each.ours in ("done", "changed")
            assert place(redis_client, each.job_id) == (QUEUED if each.ours == "done" else dropped)
            rounds.append(each)
    assert both_came_first(rounds)


def test_against_a_cleanup_that_files_an_old_run_a_retry_waits(real_rq, redis_client, rq_version, failed):
    """A run left over in the started registry: RQ 2.12 reads it, and then files the job as failed wherever it is."""

    def prepare(job_id):
        failed.failed(job_id)
        redis_client.zadd("rq:wip:orders", {f"{job_id}:run": 1})

    rounds = []
    with rqs(real_rq, redis_client, "clean") as rival:
        for each in race(lambda job_id: requeue(failed.target(job_id)), rival, prepare, first="running"):
            assert place(redis_client, each.job_id) == (QUEUED if each.ours == "done" else FAILED)
            # RQ 2.12 writes a new result, which nobody has seen; RQ 3 only clears the entry away: the way is free.
            assert each.ours in ("running", "changed" if rq_version == "2.12" else "done")
            rounds.append(each)
    assert both_came_first(rounds)


def test_what_a_worker_takes_is_cancelled_before_or_runs(real_rq, redis_client, queued):
    rounds, runs = [], 0
    with rqs(real_rq, redis_client, "work") as rival:
        for each in race(lambda job_id: cancel(queued.target(job_id)), rival, queued.queued):
            is_cancelled = each.ours == "done"
            assert each.theirs == ("nothing" if is_cancelled else "done")
            assert each.ours in ("done", "taken", "running", "changed")
            runs += not is_cancelled
            assert place(redis_client, each.job_id) == Place("canceled" if is_cancelled else "finished", 0, False)
            assert bool(redis_client.zscore("rq:canceled:orders", each.job_id)) == is_cancelled
            assert int(redis_client.get("effect:7") or 0) == runs
            rounds.append(each)
    assert both_came_first(rounds)
    assert not redis_client.exists(f"{QUEUE}:intermediate")
