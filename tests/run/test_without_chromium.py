"""Without Chromium the other tests run and one line says what was left out; where it must be there, nothing passes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.chromium import INSTALL
from tests.support.real_rq import ROOT


@pytest.fixture
def run_without_chromium():
    def run(**environ):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST", "OPSBOARD"))}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--collect-only",
            "tests/browser",
            "tests/domain/test_times.py",
        ]
        environ = {**kept, "PATH": "/nonexistent", **environ}
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)

    return run


def test_on_a_persons_machine_the_rest_runs_and_one_line_says_so(run_without_chromium):
    answer = run_without_chromium()
    assert answer.returncode == 0
    assert "tests/browser/" not in answer.stdout
    assert f"tests/browser was left out: no Chromium. To have it: {INSTALL}" in answer.stdout


@pytest.mark.parametrize("word", ["1", "true"])
def test_where_changes_are_judged_it_is_a_failure(run_without_chromium, word):
    answer = run_without_chromium(CI=word)
    assert answer.returncode != 0
    assert INSTALL in answer.stderr
