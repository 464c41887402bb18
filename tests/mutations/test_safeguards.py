"""Without any one of its safeguards the product fails its own tests, which with all of them it passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.mutations.mutants import NONE
from tests.mutations.safeguards import SAFEGUARDS
from tests.support.real_rq import ROOT

# One after the other they have one database, which only the first has to make.
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutations.mutants", "-p", "no:randomly", "--reuse-db"]


def test_without_any_one_of_them_they_fail(tmp_path):
    """The tests themselves stand in their folders; here they run in processes, and with stores, of their own."""
    report = tmp_path / "report"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TEST_DATABASE_"))}
    tests = sorted({test for safeguard in SAFEGUARDS.values() for test in safeguard.tests})
    ended = subprocess.run(
        [*PYTEST, "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=environ | {"MUTANTS_REPORT": str(report)},
        capture_output=True,
        text=True,
    )
    assert report.exists(), ended.stdout + ended.stderr
    passed = json.loads(report.read_text())
    with_all_of_them = passed.pop(NONE).splitlines()
    assert [test for test in tests if not any(one.startswith(test) for one in with_all_of_them)] == []
    assert passed == dict.fromkeys(SAFEGUARDS, ""), "safeguards whose loss no test notices"
