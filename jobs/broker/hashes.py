"""Turning raw hash fields and stream entries into records, whatever state they are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.broker import fields
from jobs.broker.inflate import read_exc_string
from jobs.broker.payload import read_call
from jobs.broker.records import JobHash, Result, ResultKind, Worker
from jobs.domain.calls import Unreadable

LIST_FIELDS = (
    *("status", "origin", "created_at", "enqueued_at", "started_at", "ended_at", "last_heartbeat"),
    *("worker_name", "timeout", "failure_ttl", "retries_left", "repeats_left", "data"),
)
"""What a list row needs. `data` holds the function's path, which stands nowhere else."""

STATE_FIELDS = LIST_FIELDS[:-1]
"""The same without the call, for a job of which all but its present state is known."""

DETAIL_FIELDS = [*LIST_FIELDS, "dependency_id", "dependency_ids", "group_id", "rate_limit_key"]
"""`description`, `meta`, `result`, callbacks and webhooks are never read: they may hold arguments and secrets."""

WORKER_FIELDS = (
    *("queues", "state", "birth", "last_heartbeat", "death", "shutdown_requested_date"),
    *("hostname", "pid", "version", "python_version", "current_job"),
)

LIST_PAYLOAD_BYTES = 64 * 1024
DETAIL_PAYLOAD_BYTES = 32 * 1024 * 1024
LIST_TEXT_BYTES = 256 * 1024
DETAIL_TEXT_BYTES = 2 * 1024 * 1024

_RESULT_KINDS = {b"1": "successful", b"2": "failed", b"3": "stopped", b"4": "retried", b"5": "max_retries_exceeded"}


def job_hash(job_id: str, names: Sequence[str], answer: Any, *, payload_bytes: int) -> JobHash:
    """The record of one HMGET; a key of the wrong type is a job that exists and can't be read."""
    if isinstance(answer, Exception):
        return JobHash(job_id=job_id, exists=True, call=Unreadable("the job's record is damaged"))
    raw = dict(zip(names, answer, strict=True))
    if all(one is None for one in answer):
        return JobHash(job_id=job_id, exists=False, call=Unreadable("the job's data is gone"))
    single = fields.optional_text(raw.get("dependency_id"))
    return JobHash(
        job_id=job_id,
        exists=True,
        status=fields.optional_text(raw["status"]),
        origin=fields.optional_text(raw["origin"]),
        **{name: fields.time(raw[name]) for name in ("created_at", "enqueued_at", "started_at", "ended_at")},
        enqueued_at_text=fields.text(raw["enqueued_at"]),
        started_at_text=fields.text(raw["started_at"]),
        ended_at_text=fields.text(raw["ended_at"]),
        last_heartbeat=fields.time(raw["last_heartbeat"]),
        worker_name=fields.optional_text(raw["worker_name"]),
        timeout_seconds=fields.number(raw["timeout"]),
        failure_ttl_seconds=fields.number(raw["failure_ttl"]),
        retries_left=fields.number(raw["retries_left"]),
        repeats_left=fields.number(raw["repeats_left"]),
        dependency_ids=fields.id_list(raw.get("dependency_ids")) or ((single,) if single else ()),
        group_id=fields.optional_text(raw.get("group_id")),
        is_rate_limited=raw.get("rate_limit_key") is not None,
        call=read_call(raw.get("data"), max_bytes=payload_bytes),
    )


def result(entry_id: bytes, entry: Mapping[bytes, bytes], *, text_bytes: int) -> Result:
    """The record of one stream entry. `return_value` is a pickle and is left where it lies."""
    stored = entry.get(b"exc_string")
    return Result(
        id=fields.text(entry_id),
        kind=ResultKind(_RESULT_KINDS.get(entry.get(b"type", b""), "unrecognised")),
        created_at=fields.stream_time(entry_id),
        worker_name=fields.optional_text(entry.get(b"worker_name")),
        execution_id=fields.optional_text(entry.get(b"execution_id")),
        started_at=fields.epoch(entry.get(b"execution_started_at")),
        ended_at=fields.epoch(entry.get(b"execution_ended_at")),
        error=read_exc_string(stored, max_bytes=text_bytes) if stored else None,
    )


def worker(name: str, answer: Any, executions: Any = ()) -> Worker:
    """The record of one worker's hash (and, in RQ 3, of the set of what it runs)."""
    if isinstance(answer, Exception) or all(one is None for one in answer):
        return Worker(name=name, exists=False)
    raw = dict(zip(WORKER_FIELDS, answer, strict=True))
    running = [fields.text(member).rpartition(":")[0] for member in (executions or ())]
    current = fields.optional_text(raw["current_job"])
    return Worker(
        name=name,
        exists=True,
        queues=tuple(one for one in fields.text(raw["queues"]).split(",") if one),
        state=fields.optional_text(raw["state"]),
        born_at=fields.time(raw["birth"]),
        last_heartbeat=fields.time(raw["last_heartbeat"]),
        died_at=fields.time(raw["death"]),
        shutdown_requested_at=fields.time(raw["shutdown_requested_date"]),
        hostname=fields.optional_text(raw["hostname"]),
        pid=fields.number(raw["pid"]),
        version=fields.optional_text(raw["version"]),
        python_version=fields.optional_text(raw["python_version"]),
        current_job_ids=tuple(dict.fromkeys([*running, *([current] if current else [])])),
    )
