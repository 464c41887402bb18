"""Real workers, real signals, a service that counts: what comes of a crash is what the table says.

`make chaos` takes the whole table, or goes on at random; here each point, each event and each ending is met once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.chaos.reports import Line
from tests.chaos.table import rows
from tests.support.real_rq import ROOT

SECONDS = 600


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """What came of the rows, in a world of its own on the database that the tests use."""
    file = tmp_path_factory.mktemp("chaos") / "report.json"
    command = [sys.executable, "-m", "tests.chaos", "--database", connection.vendor, "--report", str(file)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DJANGO_"))}
    ended = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=SECONDS)
    assert file.exists(), ended.stdout + ended.stderr
    return json.loads(file.read_text())


def test_whatever_is_killed_when_each_operation_ends_as_the_table_says_and_no_invariant_breaks(report):
    assert report["violations"] == [] and report["unsettled"] == []
    lines = [Line(**line) for line in report["lines"]]
    assert [line for line in lines if not line.is_right] == []
    assert len(lines) >= 130


def test_every_row_is_one_of_a_kind():
    names = [row.name for row in rows()]
    assert len(set(names)) == len(names)
