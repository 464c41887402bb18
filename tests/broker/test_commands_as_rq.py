"""Our acts against RQ's own on the same job: what each leaves in Redis, key by key and byte by byte, on both versions.

Where ours differ on purpose, a function says what is then expected instead; nothing else may differ but our mark.
"""

from __future__ import annotations

import re
import zlib

import pytest

from tests.support import acts
from tests.support.acts import target
from tests.support.keyspace import Stored, dump, load, snapshot

JOB, QUEUE, SCHEDULED = b"rq:job:a-job", b"rq:queue:orders", b"rq:scheduled:orders"
LATER = {"seconds": 3600}
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


# The jobs -------------------------------------------------------------------------------------------------------------


OPTIONS = {
    "plain": {},
    "front": {"at_front": True},
    "ttl": {"ttl": 600, "result_ttl": 900},
    "meta": {"meta": {"tenant": 42}, "description": "an order"},
    "retries": {"retry": {"max": 1, "interval": 0, "enqueue_at_front": True}},
    "json": {"serializer": "json"},
    "callbacks": {"on_failure": "fx.on_failure", "on_success": "fx.on_success"},
    "timeout": {"job_timeout": 7200},
}
WORLDS_WITHOUT_COPIES = ("alone", "dependents", "group", "neighbours")
WORLDS = (*WORLDS_WITHOUT_COPIES, "copies")


def _world(real_rq, client, world):
    """What stands around the job."""
    if world == "dependents":
        real_rq.enqueue("fx.ok", 1, job_id="child", depends_on="a-job")
    if world == "group":
        real_rq.evaluate("connection.sadd('rq:group:g', 'a-job', 'b-job') + connection.sadd('rq:groups', 'g')")
        client.hset(JOB, "group_id", "g")
    if world == "copies":
        client.rpush(QUEUE, "a-job", "b-job", "a-job")
    if world == "neighbours":
        real_rq.enqueue("fx.ok", 2, job_id="b-job")
        real_rq.enqueue("fx.ok", 3, job_id="c-job", **LATER)


def _failed(real_rq, **options):
    real_rq.fail("fx.boom", 7, job_id="a-job", **options)


def _failed_twice(real_rq, **options):
    _failed(real_rq, **options)
    real_rq.evaluate("rq.job.Job.fetch('a-job', connection=connection).requeue().id")
    real_rq.burst("orders")


def _finished(real_rq, **options):
    real_rq.fail("fx.ok", 7, job_id="a-job", **options)


def _queued(real_rq, **options):
    real_rq.enqueue("fx.ok", 7, job_id="a-job", **options)


def _scheduled(real_rq, **options):
    real_rq.enqueue("fx.ok", 7, job_id="a-job", **LATER, **options)


def _scheduled_retry(real_rq, **options):
    real_rq.fail("fx.boom", 7, job_id="a-job", retry={"max": 2, "interval": 3600, "enqueue_at_front": True})


def _deferred(real_rq, **options):
    for parent in ("parent-1", "parent-2"):
        real_rq.enqueue("fx.ok", 1, job_id=parent, queue="payroll")
    real_rq.enqueue("fx.ok", 7, job_id="a-job", depends_on=["parent-1", "parent-2"], **options)


def _canceled(real_rq, **options):
    _queued(real_rq, **options)
    real_rq.evaluate("rq.job.Job.fetch('a-job', connection=connection).cancel() and None")


# The acts: ours, RQ's, and what ours does otherwise -------------------------------------------------------------------

RQS_JOB = "rq.job.Job.fetch('a-job', connection=connection, serializer={serializer!r})"


def _delete(where):
    detail = acts.read(where.job_id)
    return acts.delete(where, group_id=detail.job.group_id, dependency_ids=detail.job.dependency_ids)


def requeued(theirs, version):
    fields = dict(theirs[JOB].value)
    # The traceback of an age before streams: RQ writes an empty one, ours takes the field out.
    assert zlib.decompress(fields.pop(b"exc_info")) == b""
    return theirs | {JOB: _waiting(Stored("hash", fields, theirs[JOB].expires))}


def enqueued(theirs, version):
    return theirs | {JOB: _waiting(theirs[JOB])}


def canceled(theirs, version):
    return _without_copies(theirs)


def deleted(theirs, version):
    """No results of a job that is no more; and nothing that still names it as a dependent."""
    left = {key: stored for key, stored in theirs.items() if key != b"rq:results:a-job" or version == "3.0"}
    for key, stored in theirs.items():
        if key.endswith(b":dependents"):
            left = _replaced(left, key, stored.value - {b"a-job"})
    return _without_copies(left)


def _waiting(job):
    """RQ lets a failure's time-to-live run on while the job waits, and deletes it when the queue is long enough."""
    return job if b"ttl" in job.value else job._replace(expires=False)


def _without_copies(theirs):
    """RQ takes the first copy out of the queue and leaves the others, which then run or find no job."""
    if QUEUE not in theirs:
        return theirs
    return _replaced(theirs, QUEUE, [one for one in theirs[QUEUE].value if one != b"a-job"])


def _replaced(stored, key, value):
    rest = {name: one for name, one in stored.items() if name != key}
    return rest | ({key: stored[key]._replace(value=value)} if value else {})


DUE = """[
    (scheduler.acquire_locks(), scheduler.enqueue_scheduled_jobs(), scheduler.release_locks())
    for scheduler in [rq.scheduler.RQScheduler(
        ['orders'], connection=connection, serializer={serializer!r}, logging_level='ERROR', name='now'
    )]
] and connection.delete('rq:scheduler:now')"""
ACTS = {
    "requeue": (acts.requeue, RQS_JOB + ".requeue() and None", requeued),
    "delete": (_delete, RQS_JOB + ".delete()", deleted),
    "cancel": (acts.cancel, RQS_JOB + ".cancel(remove_from_dependencies=True) and None", canceled),
    "enqueue": (acts.enqueue, DUE, enqueued),
}
STATES = {
    "requeue": (_failed, _failed_twice),
    "delete": (_failed, _failed_twice, _finished, _queued, _scheduled, _deferred, _canceled),
    "cancel": (_queued, _scheduled, _scheduled_retry, _deferred),
    "enqueue": (_scheduled, _scheduled_retry),
}


def _cases():
    """Every state with plain options in every world, and the act's first state with each of the options.

    Left out: what already stands in its queue is neither queued again nor queued now.
    """
    for act, states in STATES.items():
        for make in states:
            for world in WORLDS if act in ("delete", "cancel") else WORLDS_WITHOUT_COPIES:
                yield act, make, "plain", world
        yield act, states[0], "ttl", "dependents"
        for options in list(OPTIONS)[1:]:
            yield act, states[0], options, "neighbours"


def _name(one):
    return one if isinstance(one, str) else one.__name__.lstrip("_")


@pytest.mark.parametrize(("act", "make", "options", "world"), list(_cases()), ids=_name)
def test_ours_leaves_what_rqs_own_leaves(real_rq, redis_client, rq_version, act, make, options, world):
    ours, theirs, otherwise = ACTS[act]
    make(real_rq, **OPTIONS[options])
    _world(real_rq, redis_client, world)
    if act == "enqueue":
        redis_client.zadd(SCHEDULED, {"a-job": 1})
    before = dump(redis_client)
    assert ours(target("a-job")) == "done"
    left_by_us = snapshot(redis_client)
    redis_client.flushdb()
    load(redis_client, before)
    real_rq.evaluate(theirs.format(serializer=OPTIONS[options].get("serializer")))
    left_by_rq = snapshot(redis_client)
    assert left_by_us.pop(acts.MARK).expires
    assert _timeless(left_by_us) == _timeless(otherwise(left_by_rq, rq_version))


def _timeless(stored):
    """Without the moment of the act itself, which is another for each of the two."""
    comparable = dict(stored)
    if JOB in stored and b"enqueued_at" in stored[JOB].value:
        assert TIME.fullmatch(stored[JOB].value[b"enqueued_at"])
        comparable[JOB] = stored[JOB]._replace(value=stored[JOB].value | {b"enqueued_at": b"now"})
    registry = stored.get(b"rq:canceled:orders")
    if registry:
        assert all(score == int(score) for _, score in registry.value)
        comparable[b"rq:canceled:orders"] = registry._replace(value=[member for member, _ in registry.value])
    return comparable
