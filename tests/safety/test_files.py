"""A result is there whole or not at all, whatever befalls who writes it."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from jobs.safety import files
from jobs.safety.errors import LeaseLost, MisuseError
from jobs.safety.files import result_file
from tests.safety.dying import NEW, OLD, Attempt
from tests.support.real_rq import ROOT

STEPS = ("file_opened", "file_written", "before_rename", "after_rename")


@pytest.fixture
def attempt():
    return Attempt()


@pytest.fixture
def report(tmp_path):
    """The final name, alone in its folder. No umask but ours."""
    before = os.umask(0o022)
    yield tmp_path / "report.csv"
    os.umask(before)


# What appears ---------------------------------------------------------------------------------------------------------


def test_a_file_appears_at_the_end_and_whole(report, attempt):
    with result_file(report, attempt=attempt) as file:
        file.write(NEW)
        file.flush()
        assert not report.exists()
    assert report.read_bytes() == NEW
    assert names_beside(report) == []


def test_a_repeat_replaces_the_file(report, attempt):
    report.write_bytes(OLD)
    with result_file(report, attempt=attempt) as file:
        file.write(NEW)
        assert report.read_bytes() == OLD
    assert report.read_bytes() == NEW


def test_text_is_utf_8_and_keeps_the_line_ends_of_csv(report, attempt):
    with result_file(report, "w", attempt=attempt) as file:
        csv.writer(file).writerow(["ä", 1])
        file.write("\n")
    assert report.read_bytes() == "ä,1\r\n\n".encode()


def test_a_wrapper_that_closes_the_file_does_no_harm(report, attempt):
    with result_file(report, attempt=attempt) as file, io.TextIOWrapper(file) as text:
        text.write("hello")
    assert report.read_text() == "hello"


@pytest.mark.parametrize(("wanted", "umask", "given"), [(0o600, 0o022, 0o600), (0o664, 0o027, 0o640)])
def test_a_file_may_be_read_by_whom_permissions_and_umask_let(report, attempt, wanted, umask, given):
    os.umask(umask)
    with result_file(report, permissions=wanted, attempt=attempt):
        pass
    assert report.stat().st_mode & 0o777 == given


def test_all_is_on_the_disk_and_the_lease_held_before_the_file_is_put_in_place(report, attempt, monkeypatch):
    steps = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append(f"fsync {is_folder(descriptor)}"))
    monkeypatch.setattr(attempt, "require_lease", lambda: steps.append("lease"), raising=False)
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *names, **how: (steps.append("replace"), replace(*names, **how)))
    with result_file(report, attempt=attempt):
        pass
    assert steps == ["fsync False", "lease", "replace", "fsync True"]


# What does not --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, LeaseLost])
def test_a_block_that_fails_leaves_everything_as_it_was(report, attempt, error):
    report.write_bytes(OLD)
    with pytest.raises(error), result_file(report, attempt=attempt) as file:
        file.write(NEW)
        raise error
    assert report.read_bytes() == OLD
    assert names_beside(report) == []


def test_an_attempt_that_lost_its_operation_meanwhile_puts_nothing_in_place(report, attempt):
    with pytest.raises(LeaseLost), result_file(report, attempt=attempt) as file:
        file.write(NEW)
        attempt.is_lost = True
    assert list(report.parent.iterdir()) == []


def test_a_full_disk_leaves_everything_as_it_was(report, attempt, monkeypatch):
    def no_space(_descriptor):
        raise OSError(28, "No space left on device")

    report.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"), result_file(report, attempt=attempt) as file:
        file.write(NEW)
    assert (report.read_bytes(), names_beside(report)) == (OLD, [])


def test_a_link_under_the_final_name_is_replaced_and_not_followed(report, attempt, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(OLD)
    report.symlink_to(elsewhere)
    with result_file(report, attempt=attempt) as file:
        file.write(NEW)
    assert (report.read_bytes(), report.is_symlink(), elsewhere.read_bytes()) == (NEW, False, OLD)


def test_a_link_laid_under_the_temporary_name_is_not_followed(report, attempt, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(OLD)
    temporary(report, attempt).symlink_to(elsewhere)
    with pytest.raises(MisuseError), result_file(report, attempt=attempt) as file:
        file.write(NEW)
    assert elsewhere.read_bytes() == OLD


def test_a_folder_that_is_moved_meanwhile_keeps_its_file(report, attempt):
    folder, moved = report.parent, report.parent.with_name("moved")
    with result_file(report, attempt=attempt) as file:
        file.write(NEW)
        folder.rename(moved)
        folder.mkdir()
    assert list(folder.iterdir()) == []
    assert (moved / report.name).read_bytes() == NEW


def test_one_attempt_writes_a_file_once_at_a_time(report, attempt):
    with result_file(report, attempt=attempt) as file:
        file.write(NEW)
        with pytest.raises(MisuseError, match="is writing"), result_file(report, attempt=attempt):
            pass
    assert report.read_bytes() == NEW


def test_two_attempts_on_one_file_do_not_meet(report):
    with result_file(report, attempt=Attempt()) as one, result_file(report, attempt=Attempt()) as other:
        one.write(OLD)
        other.write(NEW)
    assert report.read_bytes() == OLD
    assert names_beside(report) == []


@pytest.mark.parametrize("mode", ["ab", "r+b", "x"])
def test_a_file_that_would_not_be_written_whole_is_refused(report, attempt, mode):
    with pytest.raises(MisuseError, match="mode"):
        result_file(report, mode, attempt=attempt)


def test_outside_the_job_of_an_operation_it_is_refused(report):
    with pytest.raises(MisuseError, match="@operation"):
        result_file(report)


def test_in_the_job_of_an_operation_its_attempt_writes(report, attempt, monkeypatch):
    monkeypatch.setattr(files, "current", lambda: attempt)
    with result_file(report):
        assert temporary(report, attempt).exists()
    assert report.exists()


# A killed writer ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder for each step at which a writer was killed, each with the old file in it before."""
    folder = tmp_path_factory.mktemp("killed")
    for step in STEPS:
        (folder / step).mkdir()
        (folder / step / "report.csv").write_bytes(OLD)
    process = subprocess.run([sys.executable, "-m", "tests.safety.dying", str(folder), *STEPS], cwd=ROOT)
    assert process.returncode == len(STEPS)
    return folder


@pytest.mark.parametrize("step", STEPS)
def test_a_writer_killed_at_any_step_leaves_the_old_file_or_the_new_one(killed, step):
    report, is_there = killed / step / "report.csv", step == "after_rename"
    assert report.read_bytes() == (NEW if is_there else OLD)
    assert len(names_beside(report)) == (0 if is_there else 1)


def test_what_a_killed_writer_left_goes_when_the_next_one_begins(killed, report, attempt):
    [left] = names_beside(killed / "before_rename/report.csv")
    shutil.copy(killed / "before_rename" / left, report.parent)
    age(report.with_name(left), hours=2)
    with result_file(report, attempt=attempt):
        assert names_beside(report) == [temporary(report, attempt).name]


def test_what_somebody_may_still_be_writing_stays(report, attempt):
    left = temporary(report, Attempt())
    left.write_bytes(NEW)
    age(left, hours=0.9)
    with result_file(report, attempt=attempt):
        pass
    assert names_beside(report) == [left.name]
    with result_file(report, left_over_after=timedelta(minutes=30), attempt=attempt):
        pass
    assert names_beside(report) == []


@pytest.mark.parametrize("name", ["report.csv", "other.csv", "xreport.csv", "reportxcsv"])
def test_what_is_left_of_another_file_stays(report, attempt, name):
    others = [temporary(report.with_name(name), Attempt()), report.with_name(f".{name}.notes.part")]
    for other in others:
        other.write_bytes(OLD)
        age(other, hours=999)
    with result_file(report, attempt=attempt):
        pass
    assert [other.exists() for other in others] == [name != report.name, True]


def test_a_link_among_what_is_left_goes_and_its_target_stays(report, attempt, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(OLD)
    left = temporary(report, Attempt())
    left.symlink_to(elsewhere)
    os.utime(left, (0, 0), follow_symlinks=False)
    with result_file(report, attempt=attempt):
        pass
    assert names_beside(report) == ["elsewhere"]
    assert elsewhere.read_bytes() == OLD


# ----------------------------------------------------------------------------------------------------------------------


def temporary(path, attempt):
    return path.with_name(f".{path.name}.{attempt.attempt_id.hex}.part")


def names_beside(path):
    return sorted(found.name for found in path.parent.iterdir() if found != path)


def age(path, hours):
    then = time.time() - hours * 3600
    os.utime(path, (then, then))


def is_folder(descriptor):
    return os.path.isdir(f"/proc/self/fd/{descriptor}")
