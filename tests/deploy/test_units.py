"""The units of systemd: what it makes of them, and that none of the rules that jobs rely on has been taken out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands

from deploy.render import Installation, Refused, require_plain, require_startable
from exports.tasks import EXPORTS_QUEUE, MAIL_QUEUE, MAIL_SECONDS
from opsboard.instance import read_secret_key
from tests.support.real_rq import ROOT
from tests.support.units import FOR_ALL, Unit, render, worker_command

ANALYZE = shutil.which("systemd-analyze")
NEEDS_ANALYZE = pytest.mark.skipif(
    ANALYZE is None, reason="systemd-analyze is missing; on Debian: apt-get install systemd"
)
WEB, WORKER, OBSERVER = "opsboard-web.service", "opsboard-worker@.service", "opsboard-observer.service"
EXPIRY, TIMER = "opsboard-expire-exports.service", "opsboard-expire-exports.timer"
STAY = (WEB, WORKER, OBSERVER)
SERVICES = (*STAY, EXPIRY)
MOST_EXPOSED = 20
"""In tenths: systemd calls a service without any hardening 96."""
PAGE = (ROOT / "docs/deploy.md").read_text()
EXAMPLES = [ROOT / "deploy/systemd" / name for name in ("opsboard.env", "worker.env")]


@pytest.fixture
def units(tmp_path) -> dict[str, Unit]:
    return render(tmp_path / "units")


# What systemd says ----------------------------------------------------------------------------------------------------


@NEEDS_ANALYZE
def test_systemd_finds_nothing_to_object_to(units):
    said = analyze("verify", *(str(unit.path) for unit in units.values()))
    assert (said.stdout + said.stderr, said.returncode) == ("", 0)


@NEEDS_ANALYZE
def test_what_systemd_does_not_know_would_be_noticed(units):
    path = units[WORKER].path
    path.write_text(path.read_text().replace("KillMode=", "KilMode="))
    assert "KilMode" in analyze("verify", str(path)).stderr


@NEEDS_ANALYZE
@pytest.mark.parametrize("name", SERVICES)
def test_little_is_left_open_to_who_takes_a_service_over(units, name):
    said = exposure(units[name])
    assert said.returncode == 0, said.stdout + said.stderr


@NEEDS_ANALYZE
def test_it_is_the_hardening_for_all_that_closes_it(units):
    shutil.rmtree(units[WEB].path.parent / FOR_ALL)
    assert exposure(units[WEB]).returncode != 0


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert ANALYZE
    return subprocess.run([ANALYZE, *arguments], capture_output=True, text=True, timeout=120)


def exposure(unit: Unit) -> subprocess.CompletedProcess[str]:
    return analyze("security", "--no-pager", "--offline=true", f"--threshold={MOST_EXPOSED}", str(unit.path))


# How a worker stops, and starts again ---------------------------------------------------------------------------------


def test_a_stop_reaches_rqs_own_process_only_and_what_is_left_is_killed(units):
    assert (units[WORKER].one("KillMode"), units[WORKER].one("KillSignal")) == ("mixed", "SIGTERM")
    assert units[WORKER].one("SendSIGKILL") in (None, "yes")


def test_a_stop_waits_for_longer_than_the_longest_stage_of_a_job(units, settings):
    longest = max(MAIL_SECONDS, settings.OPSBOARD_CALL_TIMEOUT_SECONDS)
    assert units[WORKER].seconds("TimeoutStopSec") > longest


def test_a_worker_has_no_name_that_a_crash_would_leave_taken(units):
    assert not [word for word in units[WORKER].command if word.startswith(("--name", "-n"))]


def test_a_worker_serves_the_queues_of_the_exports_and_enqueues_what_is_due(units):
    command = units[WORKER].command
    assert "--with-scheduler" in command
    assert {EXPORTS_QUEUE, MAIL_QUEUE} <= set(command)


def test_rq_writes_no_arguments_into_the_journal(units):
    command = units[WORKER].command
    assert command[command.index("--verbosity") + 1] == "0"


def test_no_job_outlives_its_worker_and_no_worker_its_job_that_ran_out_of_memory(units):
    assert units[WORKER].environment["OPSBOARD_DIE_WITH_WORKER"] == "1"
    assert units[WORKER].one("OOMPolicy") == "continue"


@pytest.mark.parametrize("name", STAY)
def test_what_ends_is_started_again_without_a_hand_and_without_haste(units, name):
    unit = units[name]
    assert (unit.one("Restart"), unit.one("StartLimitIntervalSec")) == ("always", "0")
    assert unit.seconds("RestartSec") >= 5


@pytest.mark.parametrize("name", STAY)
def test_nothing_starts_against_a_database_without_its_migrations(units, name):
    (before,) = units[name].every("ExecStartPre")
    assert before.endswith(" manage.py migrate --check")


def test_no_service_takes_another_down_with_it(units):
    ties = ("Requires", "Requisite", "BindsTo", "PartOf", "PropagatesStopTo", "Conflicts", "Upholds")
    assert {name: unit.one(tie) for name, unit in units.items() for tie in ties if unit.one(tie)} == {}


def test_expired_exports_are_removed_each_hour_even_after_the_machine_was_off(units):
    assert (units[TIMER].one("OnCalendar"), units[TIMER].one("Persistent")) == ("hourly", "yes")
    assert units[EXPIRY].one("Type") == "oneshot"


# Who may do what ------------------------------------------------------------------------------------------------------


def test_no_service_is_root_and_jobs_are_not_the_account_of_the_pages(units):
    accounts = {name: units[name].one("User") for name in SERVICES}
    assert not {None, "root", "0", ""} & set(accounts.values())
    assert accounts[WEB] == accounts[OBSERVER] != accounts[WORKER] == accounts[EXPIRY]


def test_a_job_does_not_get_the_key_that_signs_sessions(units):
    for name in (WORKER, EXPIRY):
        assert "OPSBOARD_SECRET_KEY" in units[name].every("UnsetEnvironment")


def test_workers_write_the_exports_and_the_pages_only_read_them(units):
    web, worker = units[WEB], units[WORKER]
    folder = web.environment["OPSBOARD_EXPORTS_DIR"]
    assert folder == worker.environment["OPSBOARD_EXPORTS_DIR"] == units[EXPIRY].environment["OPSBOARD_EXPORTS_DIR"]
    assert folder in [f"/var/lib/{name}" for name in words(worker, "StateDirectory")]
    assert folder not in [f"/var/lib/{name}" for name in words(web, "StateDirectory")]
    assert (worker.one("StateDirectoryMode"), worker.one("UMask")) == ("2750", "0027")
    assert web.one("Group") == worker.one("Group")
    assert words(web, "ReadWritePaths") == words(worker, "ReadWritePaths") == []


def test_nobody_but_a_proxy_that_was_let_in_reaches_the_socket(units):
    """As opsboard.gunicorn_conf demands of the folder of OPSBOARD_BIND."""
    assert (units[WEB].one("RuntimeDirectory"), units[WEB].one("RuntimeDirectoryMode")) == ("opsboard", "0750")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_writes_to_its_own_folders_only(units, name):
    assert (units[name].one("ProtectSystem"), units[name].one("NoNewPrivileges")) == ("strict", "yes")
    own = {f"/var/lib/{folder}" for folder in words(units[name], "StateDirectory")}
    assert units[name].environment["OPSBOARD_VAR"] in own


@pytest.mark.parametrize("name", [WORKER, OBSERVER])
def test_the_death_of_a_job_can_be_proved(units, name):
    """By the boot's id in /proc/sys, and by what /proc tells the observer of a process of another user."""
    assert units[name].one("ProcSubset") in (None, "all")
    assert units[OBSERVER].one("ProtectProc") in (None, "default")
    assert units[name].one("PrivatePIDs") in (None, "no")


def test_the_pages_listen_where_our_own_configuration_says(units):
    command = units[WEB].command
    assert command[-2:] == ["--config", "opsboard/gunicorn_conf.py"]
    assert "GUNICORN_CMD_ARGS" not in units[WEB].path.read_text() + EXAMPLES[0].read_text()


def test_gunicorn_may_give_its_socket_an_owner(units):
    """Which is denied to them with all that is privileged, and allowed again after that."""
    filters = units[WEB].every("SystemCallFilter")
    assert filters.index("@chown") > filters.index("~@privileged @resources")


# What they name is there ----------------------------------------------------------------------------------------------


def test_no_placeholder_is_left(tmp_path):
    render(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == len([*SERVICES, TIMER]) + 1
    assert [path.name for path in files if re.search(r"@[A-Z]+@", path.read_text())] == []


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_unit_starts_is_there(units, name):
    python, *arguments = units[name].command
    assert Path(python) == ROOT / ".venv/bin/python"
    assert units[name].one("WorkingDirectory") == str(ROOT)
    if arguments[0] == "manage.py":
        assert arguments[1] in get_commands()
    else:
        assert arguments[:2] == ["-m", "gunicorn"]


def test_a_test_can_start_a_worker_as_the_unit_does(tmp_path):
    command, environment = worker_command(tmp_path)
    assert command[1:3] == ["manage.py", "rqworker"]
    assert environment["OPSBOARD_DIE_WITH_WORKER"] == "1"


# The files of settings ------------------------------------------------------------------------------------------------


def assignments(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_no_secret_and_names_only_settings_that_there_are(path):
    readme = (ROOT / "README.md").read_text()
    for name, value in assignments(path).items():
        assert f"`{name}`" in readme
        assert name != "OPSBOARD_SECRET_KEY" or value == "CHANGE-ME"
        assert re.findall(r":([^:@/]+)@", value) == ["CHANGE-ME"] * value.count("@")


def test_an_example_as_it_is_does_not_start(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="too short"):
        read_secret_key(assignments(EXAMPLES[0]), tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_files_with_secrets_are_for_root_only_and_every_service_reads_them_from_there(path, units):
    assert f"install -m 600 deploy/systemd/{path.name} /etc/opsboard/{path.name}" in PAGE
    assert "chmod 600" in path.read_text()
    readers = [name for name in SERVICES if f"/etc/opsboard/{path.name}" in str(units[name].every("EnvironmentFile"))]
    assert readers == list(SERVICES if path.name == "opsboard.env" else (WORKER, EXPIRY))


def test_the_page_names_every_unit():
    assert [name for name in (*SERVICES, TIMER) if name.replace("@.service", "@") not in PAGE] == []


def test_a_new_version_brings_migrations_then_workers_then_the_web():
    """The workers of it know the calls of both releases, and the web of it stores calls that only they know."""
    steps = PAGE.partition("## Bring a new version")[2].partition("The order matters")[0]
    order = [steps.index(step) for step in ("migrate --no-input", "restart 'opsboard-worker@*'", "opsboard-web\n")]
    assert order == sorted(order)


# Rendering ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"root": Path("opsboard")}, "--root must be a whole path"),
        ({"root": Path("/opt/ops board")}, "--root may hold letters"),
        ({"root": Path("/opt/100%h")}, "--root may hold letters"),
        ({"root": Path('/opt/"quoted"')}, "--root may hold letters"),
        ({"root": Path("/opt/$HOME")}, "--root may hold letters"),
        ({"root": Path("/opt/line\nbreak")}, "--root may hold letters"),
        ({"root": Path("/opt/../etc")}, "--root may hold letters"),
        ({"config": Path("etc")}, "--config must be a whole path"),
        ({"user": "root"}, "--user must not be root"),
        ({"worker": "root"}, "--worker must not be root"),
        ({"group": "two words"}, "--group must be a name"),
        ({"user": "%u"}, "--user must be a name"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_systemd_would_read_otherwise_is_refused(changed, sentence):
    with pytest.raises(Refused, match=sentence):
        require_plain(Installation(**{"root": Path("/opt/opsboard"), **changed}))


def test_a_plain_installation_is_taken():
    require_plain(Installation(root=Path("/opt/opsboard/2026-11-30_1"), user="ops", worker="ops-jobs", group="ops"))


def release(folder: Path, python: Path) -> Installation:
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "manage.py").touch()
    (folder / ".venv/bin/python").symlink_to(python)
    return Installation(root=folder)


def test_a_folder_that_is_no_release_is_refused(tmp_path):
    with pytest.raises(Refused, match=r"manage\.py is missing"):
        require_startable(Installation(root=tmp_path))


def test_a_release_without_its_environment_is_refused(tmp_path):
    (tmp_path / "manage.py").touch()
    with pytest.raises(Refused, match=r"python is missing; make it with: python3 opsboard/bootstrap\.py run"):
        require_startable(Installation(root=tmp_path))


def test_a_release_that_services_can_not_see_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("deploy.render._HIDDEN", (str(tmp_path / "home"),))
    require_startable(release(tmp_path / "opt/opsboard", Path(sys.executable)))
    with pytest.raises(Refused, match="Services can't see"):
        require_startable(release(tmp_path / "home/ada/opsboard", Path(sys.executable)))


def test_an_environment_made_with_a_python_that_services_can_not_see_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("deploy.render._HIDDEN", (str(tmp_path / "home"),))
    own = tmp_path / "home/ada/python3"
    own.parent.mkdir(parents=True)
    own.touch()
    with pytest.raises(Refused, match="which services can't see"):
        require_startable(release(tmp_path / "opt/opsboard", own))


def test_a_refusal_is_one_sentence_and_nothing_is_written(tmp_path):
    command = [sys.executable, "deploy/render.py", str(tmp_path / "units"), "--root", "here"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stdout, said.stderr) == (1, "", "Error: --root must be a whole path, from / on.\n")
    assert not (tmp_path / "units").exists()


def test_a_folder_that_can_not_be_written_to_is_told_with_its_remedy(tmp_path):
    (tmp_path / "units").touch()
    with pytest.raises(Refused, match="run it as root or name another folder"):
        render(tmp_path / "units")


def words(unit: Unit, name: str) -> list[str]:
    return [word for line in unit.every(name) for word in line.split()]
