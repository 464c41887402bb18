"""The set-up before everything: which Python, what is missing, and when there is nothing to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from opsboard import bootstrap
from tests.support.real_rq import ROOT


@pytest.fixture
def folder(tmp_path):
    """A fresh clone's part that the set-up needs."""
    (tmp_path / "opsboard").mkdir()
    for name in ("Makefile", "opsboard/bootstrap.py", *(path.name for path in ROOT.glob("requirements*.txt"))):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/printf").symlink_to(shutil.which("printf"))
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """Commands that would have been run; they all succeed, and a made environment's Python starts."""
    made = []
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda command: made.append(command[1:3]) or 0)
    monkeypatch.setattr(bootstrap.os, "access", lambda *_: True)
    return made


def test_without_any_python_it_says_what_is_needed_and_how_to_get_it(folder):
    answer = _make(folder)
    assert answer.returncode != 0
    assert "opsboard needs Python 3.11 or newer with its venv module, and finds none." in answer.stdout
    assert "There is no python3 on PATH." in answer.stdout
    assert "apt-get install python3 python3-venv" in answer.stdout


def test_each_python_that_will_not_do_is_named_with_the_reason(folder):
    _script(folder / "bin/python3", 'echo "is 3.9.2, too old"; exit 1')
    _script(folder / "bin/python3.13", "exit 127")
    answer = _make(folder)
    assert "  python3 is 3.9.2, too old\n" in answer.stdout
    assert "  python3.13 is too old, or does not start\n" in answer.stdout


def test_the_newest_python_that_will_do_is_taken(folder):
    for name in ("python3.12", "python3.11", "python3"):
        _script(folder / "bin" / name, f'[ "$2" = why-not ] || echo "{name} makes it for $2"')
    _script(folder / "bin/python3.13", "exit 127")
    assert _make(folder).stdout == "python3.12 makes it for test\n"


def test_a_named_python_is_the_only_one_tried(folder):
    _script(folder / "bin/python3.12", "exit 0")
    answer = _make(folder, "PYTHON=python9")
    assert answer.returncode != 0
    assert "make setup PYTHON=" in answer.stdout


def test_this_python_will_do():
    assert bootstrap.why_not() is None


def test_an_old_python_says_that_it_is_too_old(monkeypatch):
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 10, 13))
    assert bootstrap.why_not().endswith("too old")


def test_a_python_without_venv_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert "apt-get install python3." in bootstrap.why_not()


def test_a_second_call_does_nothing(folder, calls):
    environment, requirements = folder / "env", folder / "requirements.txt"
    environment.mkdir()
    assert bootstrap.provide(environment, requirements)
    assert calls == [["-m", "venv"], ["-m", "pip"]]
    calls.clear()
    assert bootstrap.provide(environment, requirements)
    assert calls == [["-c", ""]]


def test_what_tests_need_includes_what_runs(folder, calls):
    environment = folder / "env"
    environment.mkdir()
    bootstrap.provide(environment, folder / "requirements-dev.txt")
    calls.clear()
    assert bootstrap.provide(environment, folder / "requirements.txt")
    assert calls == [["-c", ""]]


def test_changed_requirements_are_installed_again(folder, calls):
    environment, requirements = folder / "env", folder / "requirements.txt"
    environment.mkdir()
    bootstrap.provide(environment, requirements)
    calls.clear()
    requirements.write_text(requirements.read_text() + "six==1.17.0\n")
    bootstrap.provide(environment, requirements)
    assert calls == [["-c", ""], ["-m", "pip"]]


@pytest.mark.parametrize("change", ["moved", "another python"])
def test_an_environment_that_no_longer_fits_is_made_anew(folder, calls, change, monkeypatch):
    environment = folder / "env"
    environment.mkdir()
    bootstrap.provide(environment, folder / "requirements.txt")
    if change == "moved":
        environment = environment.rename(folder / "elsewhere")
    else:
        monkeypatch.setattr(bootstrap.sys, "version", "3.99.0 (main)")
    calls.clear()
    bootstrap.provide(environment, folder / "requirements.txt")
    assert calls == [["-m", "venv"], ["-m", "pip"]]


def test_a_failed_install_is_tried_again_next_time(folder, monkeypatch, capsys):
    environment = folder / "env"
    environment.mkdir()
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda command: "pip" in command)
    assert not bootstrap.provide(environment, folder / "requirements.txt")
    assert "It needs to reach a package index, once." in capsys.readouterr().out
    assert not (environment / "opsboard-installed.json").exists()


def _make(folder, *arguments):
    environ = {"PATH": str(folder / "bin")}
    make = [shutil.which("make"), "--no-print-directory", "setup", *arguments]
    return subprocess.run(make, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def _script(path, body):
    path.write_text(f"#!{shutil.which('sh')}\n{body}\n")
    os.chmod(path, 0o755)
