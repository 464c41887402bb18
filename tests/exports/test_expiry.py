"""The end of files: what is over goes, what is of use stays, and nothing outside of the folder is touched."""

from __future__ import annotations

import io
import os
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.utils import timezone
from structlog.testing import capture_logs

from exports import expiry, tasks
from exports.expiry import LEFT_OVER_AFTER, remove_expired, remove_left_overs
from exports.files import path_of
from exports.models import Export
from exports.requesting import request_export
from jobs.models import Operation
from tests.support.op_ledger import submitted

Status = Operation.Status
LONG_AGO = timedelta(days=-4000)
"""Whatever the clock of the machine says."""
PART = f".export-5.csv.{'0a' * 16}.part"


@pytest.fixture
def folder(settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    settings.OPSBOARD_EXPORTS_DIR.mkdir()
    return settings.OPSBOARD_EXPORTS_DIR


@pytest.fixture
def made(exporter, folder, now):
    """made(status, until): an export with a file, whose operation has this status."""

    def make(status=Status.COMPLETED, until=timedelta(days=-1)):
        operation = submitted(f"export:{Export.objects.count()}")
        Operation.objects.filter(pk=operation.pk).update(status=status)
        expires_at = None if until is None else now + until
        export = Export.objects.create(
            owner=exporter, period="2025", requested_at=now, operation=operation, expires_at=expires_at
        )
        path_of(export.pk).write_text("rows")
        return export

    return make


def age(path, now, by):
    at = (now - by).timestamp()
    os.utime(path, (at, at), follow_symlinks=False)
    return path


def removed_at(export):
    return Export.objects.get(pk=export.pk).removed_at


# Exports whose time is over -------------------------------------------------------------------------------------------


def test_a_file_goes_when_its_time_is_over_and_not_before(made, now):
    over, just, still = made(), made(until=timedelta()), made(until=timedelta(seconds=1))
    assert remove_expired(now, 10).removed == 2
    assert [path_of(export.pk).exists() for export in (over, just, still)] == [False, False, True]
    assert [removed_at(export) for export in (over, just, still)] == [now, now, None]


def test_what_was_removed_is_not_looked_for_again(made, now):
    made()
    remove_expired(now, 10)
    assert remove_expired(now + timedelta(hours=1), 10).removed == 0


@pytest.mark.parametrize("status", [Status.ACCEPTED, Status.QUEUED, Status.RUNNING, Status.RETRY_WAIT])
def test_no_file_of_an_export_that_is_being_built_is_touched(made, now, status):
    export = made(status)
    age(path_of(export.pk), now, timedelta(days=30))
    assert remove_expired(now, 10).removed == remove_left_overs(now, 10).removed == 0
    assert path_of(export.pk).exists()


def test_the_longest_over_go_first_and_no_more_than_the_limit(made, now):
    late, early = made(until=timedelta(days=-1)), made(until=timedelta(days=-2))
    assert remove_expired(now, 1).removed == 1
    assert [path_of(export.pk).exists() for export in (late, early)] == [True, False]


def test_a_file_that_is_gone_already_is_fine(made, now):
    export = made()
    path_of(export.pk).unlink()
    assert remove_expired(now, 10).failed == 0
    assert removed_at(export) == now


def test_what_cannot_be_removed_is_said_kept_on_record_and_tried_again(made, now):
    stuck, other = made(until=timedelta(days=-2)), made()
    path_of(stuck.pk).unlink()
    path_of(stuck.pk).mkdir()
    with capture_logs() as logs:
        done = remove_expired(now, 10)
    assert (done.removed, done.failed) == (1, 1)
    assert removed_at(stuck) is None and removed_at(other) == now
    assert [(line["log_level"], line["file"]) for line in logs] == [
        ("warning", f"export-{stuck.pk}.csv"),
        ("info", f"export-{other.pk}.csv"),
    ]
    path_of(stuck.pk).rmdir()
    assert remove_expired(now, 10).removed == 1


def test_a_link_is_removed_itself_and_what_it_points_to_stays(made, now, tmp_path):
    export = made()
    precious = tmp_path / "precious"
    precious.write_text("kept")
    path_of(export.pk).unlink()
    path_of(export.pk).symlink_to(precious)
    assert remove_expired(now, 10).removed == 1
    assert precious.read_text() == "kept"
    assert not path_of(export.pk).is_symlink()


# What nobody knows of -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["export-999999.csv", "export-999999999999999999.csv", PART])
def test_what_no_export_needs_goes_after_a_day(db, folder, now, name):
    path = folder / name
    path.write_text("x")
    age(path, now, LEFT_OVER_AFTER - timedelta(seconds=1))
    assert remove_left_overs(now, 10).removed == 0
    age(path, now, LEFT_OVER_AFTER + timedelta(seconds=1))
    assert remove_left_overs(now, 10).removed == 1
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["notes.csv", "export-1.csv.bak", "export-01.csv", "export-.csv", "export-1.CSV", ".export-1.csv.x.part"]
)
def test_no_file_of_another_name_is_touched(db, folder, now, name):
    path = folder / name
    path.write_text("x")
    age(path, now, timedelta(days=300))
    assert remove_left_overs(now, 10).removed == 0
    assert path.exists()


def test_files_that_are_ready_stay_however_old_they_are(made, now):
    export = made(until=timedelta(days=1))
    age(path_of(export.pk), now, timedelta(days=300))
    assert remove_left_overs(now, 10).removed == 0


def test_what_a_failed_export_has_left_stays_as_long_as_a_ready_one(made, now, settings):
    settings.OPSBOARD_EXPORTS_DAYS = 3
    export = made(Status.FAILED, until=None)
    age(path_of(export.pk), now, timedelta(days=3, seconds=-1))
    assert remove_left_overs(now, 10).removed == 0
    age(path_of(export.pk), now, timedelta(days=3, seconds=1))
    assert remove_left_overs(now, 10).removed == 1
    # It may be taken up again, and is ready then.
    assert removed_at(export) is None


def test_a_file_that_comes_back_from_a_backup_goes_again(made, now):
    export = made()
    remove_expired(now, 10)
    path_of(export.pk).write_text("restored")
    age(path_of(export.pk), now, timedelta(days=2))
    assert remove_left_overs(now, 10).removed == 1


def test_left_overs_are_removed_up_to_the_limit(db, folder, now):
    for number in range(3):
        path = folder / f"export-{number + 1}.csv"
        path.write_text("x")
        age(path, now, timedelta(days=2))
    assert remove_left_overs(now, 2).removed == 2
    assert [path.name for path in folder.iterdir()] == ["export-3.csv"]


def test_many_files_are_looked_up_in_parts(made, now, monkeypatch):
    monkeypatch.setattr(expiry, "_AT_ONCE", 2)
    for export in [made(until=timedelta(days=1)) for _ in range(3)]:
        age(path_of(export.pk), now, timedelta(days=2))
    stray = path_of(Export.objects.latest("pk").pk + 1)
    stray.write_text("x")
    age(stray, now, timedelta(days=2))
    assert remove_left_overs(now, 10).removed == 1
    assert len(list(stray.parent.iterdir())) == 3


# The command, and a build ---------------------------------------------------------------------------------------------


def test_the_command_removes_both_kinds_and_says_how_many(made, folder):
    export = made(until=LONG_AGO)
    (folder / PART).write_text("x")
    age(folder / PART, timezone.now(), timedelta(days=2))
    said = io.StringIO()
    call_command("remove_expired_exports", stdout=said)
    assert said.getvalue() == "2 files removed.\n"
    assert not path_of(export.pk).exists() and not list(folder.iterdir())


def test_the_command_fails_when_a_file_could_not_be_removed(made):
    export = made(until=LONG_AGO)
    path_of(export.pk).unlink()
    path_of(export.pk).mkdir()
    with pytest.raises(CommandError, match="1 could not be removed"):
        call_command("remove_expired_exports", stdout=io.StringIO())


def test_a_folder_that_cannot_be_used_is_a_sentence(db, settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "file"
    settings.OPSBOARD_EXPORTS_DIR.write_text("in the way")
    with pytest.raises(CommandError, match="The folder of the exports can't be used: File exists"):
        call_command("remove_expired_exports")


@pytest.mark.django_db(transaction=True)
def test_a_build_removes_what_is_over_and_its_own_file_stays(exporter, made, run_jobs):
    over = made(until=LONG_AGO)
    export = request_export(exporter, "2025", "").export
    run_jobs()
    assert [path_of(one.pk).exists() for one in (over, export)] == [False, True]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), DatabaseError("locked")])
def test_a_build_does_not_fail_with_what_it_removes(exporter, run_jobs, monkeypatch, error):
    monkeypatch.setattr(tasks, "remove_expired", lambda *_: (_ for _ in ()).throw(error))
    export = request_export(exporter, "2025", "").export
    run_jobs()
    assert path_of(export.pk).exists()
