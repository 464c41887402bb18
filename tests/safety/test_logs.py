"""What an operation leaves in the log: one line of JSON each, all of an attempt's lines under the same ids."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import structlog
from django.db import OperationalError
from rq import Queue
from rq.timeouts import JobTimeoutException

from jobs.safety.logs import tell
from opsboard.logs import logging_config
from tests.safety import work
from tests.support.real_rq import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
IDS = {"operationId", "jobId", "attempt", "jobType", "entityId"}


@pytest.fixture
def lines():
    """What would go to standard error in production, as it is there when it is called, each line read as JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    formatter = logging_config(debug=False, level="INFO")["formatters"]["lines"]
    handler.setFormatter(formatter.pop("()")(**formatter))
    root = logging.getLogger()
    root.addHandler(handler)
    level, root.level = root.level, logging.INFO
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.level = level


def about(lines, event):
    return [line for line in lines if line["event"] == event]


def test_every_line_of_an_attempt_has_its_ids(declared, run_all, lines):
    operation = declared["act"].submit("keyed", 5)
    run_all()
    told = [line for line in lines() if line["logger"] == "opsboard.jobs"]
    assert [line["event"] for line in told] == ["attempt begins", "effect begun", "effect completed", "attempt ends"]
    assert all(line.keys() >= IDS for line in told)
    assert {(line["operationId"], line["entityId"], line["attempt"]) for line in told} == {("act:keyed:5", "5", 1)}
    assert told[0]["jobId"] == operation.job_id and told[0]["jobType"] == "tests.safety.work.act"


def test_its_last_line_says_how_it_ended_and_how_long_it_took(declared, run_all, lines):
    declared["act"].submit("keyed", 5)
    run_all()
    (end,) = about(lines(), "attempt ends")
    assert (end["finalStatus"], end["externalCorrelationId"]) == ("completed", "id-keyed-5")
    assert 0 <= end["duration"] < 30


def test_a_line_that_job_code_logs_itself_has_them_too_and_the_next_jobs_lines_have_their_own(declared, run_all, lines):
    work.BEHAVIOUR["touch"] = lambda order: logging.getLogger("shop").warning("touching %s", order)
    declared["act"].submit("keyed", 5)
    declared["touch"].submit(7)
    run_all()
    (line,) = about(lines(), "touching 7")
    assert (line["operationId"], line["attempt"], line["level"]) == ("plain:7", 1, "warning")
    assert "externalCorrelationId" not in line


def test_a_delivery_that_is_not_needed_says_so(declared, run_all, lines):
    declared["act"].delay("keyed", 5)
    declared["act"].delay("keyed", 5)
    run_all()
    (line,) = about(lines(), "delivery turned away")
    assert (line["finalStatus"], line["operationId"], line["decisionCode"]) == (
        "skipped_duplicate",
        "act:keyed:5",
        "already_completed",
    )


def test_an_unknown_result_is_called_unknown(declared, run_all, lines):
    def die(_handle):
        raise TimeoutError("no answer")

    work.BEHAVIOUR["unsafe-5"] = die
    declared["act"].submit("unsafe", 5)
    run_all()
    (end,) = about(lines(), "attempt ends")
    assert (end["finalStatus"], end["decisionCode"]) == ("unknown", "unsafe_begun")


def test_a_log_that_cannot_be_written_changes_nothing_else(declared, run_all, monkeypatch):
    def fail(*_args, **_fields):
        raise BrokenPipeError("nobody reads it")

    monkeypatch.setattr("jobs.safety.logs._log", SimpleNamespace(info=fail, warning=fail))
    operation = declared["act"].submit("unsafe", 5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, work.CALLS) == ("completed", ["unsafe-5"])


def test_a_time_out_that_strikes_while_a_line_is_written_still_ends_the_job(monkeypatch):
    def strike(*_args, **_fields):
        raise JobTimeoutException

    monkeypatch.setattr("jobs.safety.logs._log", SimpleNamespace(info=strike))
    with pytest.raises(JobTimeoutException):
        tell("attempt begins")


def test_nothing_is_left_bound_after_a_job(declared, run_all, lines):
    declared["act"].submit("keyed", 5)
    run_all()
    assert IDS.isdisjoint(structlog.contextvars.get_contextvars())


def test_a_worker_of_our_own_settings_prints_nothing_but_json(redis_client, valkey, tmp_path):
    Queue("default", connection=redis_client).enqueue("operator.truediv", 1, 0)
    environ = {"OPSBOARD_VAR": str(tmp_path), "REDIS_URL": valkey.url, "DJANGO_SETTINGS_MODULE": "opsboard.settings"}
    worker = [sys.executable, "manage.py", "rqworker", "--burst", "--worker-class", "rq.SimpleWorker", "default"]
    done = subprocess.run(
        worker, cwd=ROOT, env={"PATH": os.environ["PATH"], **environ}, capture_output=True, text=True, check=True
    )
    written = [json.loads(line) for line in (done.stdout + done.stderr).splitlines()]
    assert [line for line in written if "ZeroDivisionError" in str(line)]


def test_an_id_that_the_database_did_not_take_is_in_the_log(declared, run_all, lines, monkeypatch):
    def lose(*_args, **_facts):
        raise OperationalError("the connection is gone")

    monkeypatch.setattr("jobs.ledger.effects.complete", lose)
    declared["act"].submit("unsafe", 5)
    run_all()
    (end,) = about(lines(), "attempt ends")
    assert (end["finalStatus"], end["externalCorrelationId"]) == ("unknown", "id-unsafe-5")
