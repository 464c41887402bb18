"""RQ's side of a race, run in the interpreter of one RQ version: waits for a start, acts with RQ's own code, answers.

Never imported by the tests themselves.
"""

from __future__ import annotations

import json
import os
import time

import redis
from rq import Queue, SimpleWorker
from rq.exceptions import InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import clean_registries


def run(name):
    """Answer one start after the other, until the start is null."""
    connection = redis.Redis.from_url(os.environ["FX_REDIS_URL"])
    act = RIVALS[name](connection)
    while start := json.loads(connection.blpop("race:start", 30)[1]):
        time.sleep(start["delay"])
        began = time.monotonic()
        answer = act(start["job_id"])
        connection.rpush("race:end", json.dumps([answer, began, time.monotonic()]))


def requeue(connection):
    def act(job_id):
        try:
            Job.fetch(job_id, connection=connection).requeue()
        except (InvalidJobOperation, NoSuchJobError) as error:
            return type(error).__name__
        return "done"

    return act


def clean(connection):
    queue = Queue("orders", connection=connection)
    return lambda job_id: clean_registries(queue) or "done"


def work(connection):
    """A worker that takes what the queue has, if it has anything, and runs it: its own steps, without the waiting."""
    queue = Queue("orders", connection=connection)
    worker = SimpleWorker([queue], connection=connection)

    def act(job_id):
        found = Queue.dequeue_any([queue], None, connection=connection)
        if found is None:
            return "nothing"
        worker.execute_job(*found)
        return "done"

    return act


RIVALS = {"requeue": requeue, "clean": clean, "work": work}
