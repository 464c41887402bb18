"""The index of failures after a sweep, held against what real workers left in Redis."""

from __future__ import annotations

import pytest

from jobs.ledger.failures import digest_of
from jobs.models import FailedJob
from tests.support.observer import watch

pytestmark = pytest.mark.django_db(transaction=True)


def row(job_id, queue="orders"):
    return FailedJob.objects.get(digest=digest_of("default", queue, job_id))


def test_a_failed_job_is_indexed_with_what_a_list_shows(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="b-1")
    watch()
    found = row("b-1")
    result_id = redis_client.xrevrange("rq:results:b-1", count=1)[0][0].decode()
    assert (found.job_type, found.finding, found.place, found.is_open) == ("fx.boom", "failed_known", "failed", True)
    assert (found.error_class, found.error_line, found.seen) == ("ValueError", "ValueError: boom 7", result_id)
    assert (found.ids, found.hidden_arguments, found.can_open) == ([["#1", "7", "number", True]], 0, True)
    assert found.failed_at == found.ended_at and found.created_at < found.started_at < found.ended_at
    assert float(found.score) == redis_client.zscore("rq:failed:orders", "b-1")
