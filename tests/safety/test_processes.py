"""What counts as proof that a process is dead, with real ones, and dying with one's parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from jobs.safety import processes
from jobs.safety.processes import Identity, is_gone, own_identity
from tests.support.real_rq import wait_until

# The one file alone: the package would load Django each time.
TELL = f"""
import importlib.util, json, os, sys, time
from dataclasses import asdict
spec = importlib.util.spec_from_file_location("processes", {processes.__file__!r})
processes = sys.modules["processes"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(processes)
die_with_parent, own_identity = processes.die_with_parent, processes.own_identity
def tell(): print(json.dumps(asdict(own_identity())), flush=True)
"""
NEW_PIDS = ["unshare", "--pid", "--fork"]


# Proof of death -------------------------------------------------------------------------------------------------------


def test_a_process_that_lives_is_not_gone():
    with running("tell(); time.sleep(60)") as process:
        assert not is_gone(told(process))
    assert not is_gone(own_identity())


def test_a_process_that_was_killed_and_reaped_is_gone():
    with running("tell(); time.sleep(60)") as process:
        identity = told(process)
        process.kill()
        process.wait()
        assert is_gone(identity)


def test_a_zombie_is_gone():
    with running("tell(); time.sleep(60)") as process:
        identity = told(process)
        process.kill()
        wait_until(lambda: is_gone(identity), "it is a zombie")
        assert process.returncode is None


def test_a_process_whose_threads_outlive_its_first_one_is_not_gone():
    script = """
import ctypes, threading
threading.Thread(target=time.sleep, args=(60,)).start()
tell()
ctypes.CDLL(None).pthread_exit(None)
"""
    with running(script) as process:
        identity = told(process)
        wait_until(lambda: processes._read(f"/proc/{process.pid}/stat").split()[2] == "Z", "its first thread ends")
        assert not is_gone(identity)


def test_a_pid_that_another_process_has_by_now_proves_the_first_one_gone():
    assert is_gone(replace(own_identity(), process_started="1"))


@pytest.mark.parametrize("field", ["boot_id", "pid_namespace", "process_started", "pid"])
def test_a_dead_process_that_is_not_named_in_full_is_not_proved_gone(dead, field):
    assert is_gone(dead)
    assert not is_gone(replace(dead, **{field: None if field == "pid" else ""}))


@pytest.mark.parametrize("field", ["boot_id", "pid_namespace"])
def test_a_process_of_another_boot_or_namespace_is_not_proved_gone(dead, field):
    assert not is_gone(replace(dead, **{field: "another"}))


def test_the_name_of_the_host_proves_nothing_either_way(dead):
    assert is_gone(replace(dead, host="renamed"))


def test_a_process_that_cannot_be_looked_at_may_live(monkeypatch):
    identity = own_identity()
    monkeypatch.setattr(processes, "_stat_of", lambda pid: None)
    assert not is_gone(identity)


def test_a_machine_that_says_nothing_of_itself_proves_nothing(monkeypatch, dead):
    monkeypatch.setattr(processes, "own_identity", Identity)
    assert not is_gone(dead)
    assert not is_gone(Identity(pid=dead.pid))


def test_a_number_that_is_no_pid_proves_nothing(dead):
    assert not is_gone(replace(dead, pid=2**40))


# Identity -------------------------------------------------------------------------------------------------------------


def test_an_identity_names_the_process_in_full():
    with running("tell()") as process:
        identity = told(process)
    assert identity.pid == process.pid
    assert all((identity.host, identity.boot_id, identity.pid_namespace, identity.process_started))
    assert identity.boot_id == own_identity().boot_id


def test_the_child_of_a_fork_has_an_identity_of_its_own():
    with running("tell(); child = os.fork(); tell() if child == 0 else os.waitpid(child, 0)") as process:
        parent, child = told(process), told(process)
    assert parent.pid == process.pid != child.pid
    assert int(parent.process_started) <= int(child.process_started)


def test_the_child_of_a_fork_keeps_nothing_of_what_its_parent_knew_about_itself():
    script = """
tell()
child = os.fork()
if child == 0:
    print(processes._identity_of.cache_info().currsize, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    with running(script) as process:
        told(process)
        assert process.stdout.readline() == "0\n"


def test_an_identity_under_the_process_table_of_another_namespace_is_left_open(new_namespaces):
    with running("tell()", before=NEW_PIDS) as process:
        identity = told(process)
    assert (identity.pid, identity.pid_namespace, identity.process_started) == (1, "", "")


def test_a_dead_process_of_another_namespace_is_not_proved_gone(new_namespaces):
    with running("tell()", before=[*NEW_PIDS, "--mount-proc"]) as process:
        identity = told(process)
        process.wait()
    assert identity.process_started
    assert not is_gone(replace(identity, pid=2**22 - 1))


# Dying with one's parent ----------------------------------------------------------------------------------------------

FORK = "parent = os.getpid(); child = os.fork()\nif child == 0: {act}; tell(); time.sleep(60)\nos.waitpid(child, 0)"


@pytest.mark.parametrize("act", ["die_with_parent(parent)", "die_with_parent()"])
def test_a_child_that_asked_for_it_dies_with_its_parent(act):
    with running(FORK.format(act=act)) as process:
        child = told(process)
        process.kill()
        wait_until(lambda: is_gone(child), "the child dies")


def test_a_child_that_did_not_ask_outlives_its_parent():
    with running(FORK.format(act="pass")) as process:
        child = told(process)
        process.kill()
        process.wait()
        assert not is_gone(child)
        os.kill(child.pid, signal.SIGKILL)


def test_a_child_whose_parent_had_gone_before_it_asked_dies_at_once():
    with running("die_with_parent(2**22 - 1); tell()") as process:
        assert process.wait(20) == -signal.SIGKILL


# ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead() -> Identity:
    """A process that was, and is no more."""
    with running("tell()") as process:
        identity = told(process)
        process.wait()
    return identity


@pytest.fixture
def new_namespaces() -> None:
    """Namespaces of pids can be made here; it takes root, or a kernel that lets others."""
    if subprocess.run([*NEW_PIDS, "true"], capture_output=True).returncode:
        pytest.skip("no new namespace of pids can be made here")


@contextmanager
def running(script, before=()):
    """A Python of its own that runs the script and may `tell` who it is; killed after use."""
    command = [*before, sys.executable, "-c", TELL + script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def told(process) -> Identity:
    return Identity(**json.loads(process.stdout.readline()))
