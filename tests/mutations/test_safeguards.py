"""Without any one of its safeguards the product fails its own tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.mutations.safeguards import SAFEGUARDS
from tests.support.real_rq import ROOT

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutations.mutants", "-p", "no:randomly"]


def run(tests, without=""):
    """Run these tests in a process, and with stores, of their own; returns the exit code and the last line."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TEST_DATABASE_"))}
    ended = subprocess.run(
        [*PYTEST, "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=environ | {"WITHOUT": without},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout.strip().rpartition("\n")[2] + ended.stderr


def test_with_all_of_them_these_tests_pass():
    code, said = run(sorted({test for safeguard in SAFEGUARDS.values() for test in safeguard.tests}))
    assert code == 0, said


@pytest.mark.parametrize("name", SAFEGUARDS)
def test_without_it_they_fail(name):
    code, said = run(SAFEGUARDS[name].tests, without=name)
    assert code == 1, said
    assert re.match(r"\d+ failed in ", said), f"not all of them failed: {said}"
