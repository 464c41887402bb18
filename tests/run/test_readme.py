"""The README says what is so: every setting, every right, every command."""

from __future__ import annotations

import re

from jobs.permissions import Permission
from tests.support.real_rq import ROOT

README = (ROOT / "README.md").read_text()
NOT_FOR_PEOPLE = {"OPSBOARD_BIND_CHECKED"}
"""Set and read by our own processes only."""


def test_every_setting_is_in_the_table_and_nothing_else():
    code = "\n".join(path.read_text() for path in (ROOT / "opsboard").rglob("*.py"))
    read = set(re.findall(r'"(PORT|(?:DATABASE|REDIS|OPSBOARD)_[A-Z_]*[A-Z])"', code)) - NOT_FOR_PEOPLE
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE)) == read


def test_every_right_is_in_the_table():
    assert re.findall(r"^\| `([a-z_]+)` \|", README, re.MULTILINE) == [permission.value for permission in Permission]


def test_every_make_command_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`?make ([a-z-]+)", README)) <= set(targets)


def test_every_file_that_is_named_exists():
    named = re.findall(r"`((?:deploy|opsboard|docs|\.ci)/[\w./-]+|[A-Z]+\.md)`", README)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
