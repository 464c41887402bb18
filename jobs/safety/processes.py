"""Which process this is, whether another one is dead for certain, and dying with one's parent (protocol, Choices)."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A process as nothing else is named; '' where the system does not say."""

    host: str = ""
    boot_id: str = ""
    """The kernel's, new with each boot."""
    pid_namespace: str = ""
    """The inodes of its namespaces of pids and, where the kernel has those, of time: start times are counted in it."""
    pid: int | None = None
    process_started: str = ""
    """Clock ticks since boot."""


def own_identity() -> Identity:
    """This process's own, and after a fork the child's own."""
    return _identity_of(os.getpid())


def is_gone(identity: Identity) -> bool:
    """Whether that process is proved dead: of this boot and these namespaces, and no such process lives.

    Anything less is no proof: a host's name, or a pid alone, can be another's by now. A zombie is dead: it runs no
    more code. A virtual machine that was copied while it ran has the boot id of the first; nothing tells them apart.
    """
    here = own_identity()
    if not (identity.boot_id and identity.pid_namespace and identity.process_started and identity.pid):
        return False
    if (identity.boot_id, identity.pid_namespace) != (here.boot_id, here.pid_namespace):
        return False
    return not _may_live(identity.pid, identity.process_started)


def die_with_parent(expected_parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent ends, and end at once if it has ended already (Linux only).

    `expected_parent`: its pid, where that is known from before; else the parent of this moment. The kernel goes by the
    thread that forked: a parent that forks from a thread takes its children along when that thread ends.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "prctl"):
        return
    parent = os.getppid() if expected_parent is None else expected_parent
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


# ----------------------------------------------------------------------------------------------------------------------


class _Stat(NamedTuple):
    started: str
    is_over: bool


@cache
def _identity_of(pid: int) -> Identity:
    stat = _stat_of(pid) if _is_own_proc(pid) else None
    return Identity(
        host=socket.gethostname()[:255],
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
        pid_namespace=_namespaces() if stat else "",
        pid=pid,
        process_started=stat.started if stat else "",
    )


# A pid can be used again, and then a descendant may get that of an ancestor.
os.register_at_fork(after_in_child=_identity_of.cache_clear)


def _may_live(pid: int, started: str) -> bool:
    """Whether the process may live; only what is certain counts as dead."""
    try:
        # Asked of the kernel and not of /proc, which may hide the processes of others (hidepid).
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        # Somebody else's, or no pid at all.
        pass
    stat = _stat_of(pid)
    return stat is None or (stat.started == started and not stat.is_over)


def _stat_of(pid: int) -> _Stat | None:
    """What /proc shows of a process; None: nothing."""
    # The name stands in brackets and may itself hold blanks and brackets.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    state, threads, started = fields[0], fields[17], fields[19]
    # A zombie whose threads go on is not over: only its first thread is.
    return _Stat(started, is_over=state in "XxZ" and int(threads) <= 1)


def _is_own_proc(pid: int) -> bool:
    """Whether /proc speaks of the pids that this process knows, and not of those of another namespace."""
    try:
        return os.readlink("/proc/self") == str(pid)
    except OSError:
        return False


def _namespaces() -> str:
    found = [_inode(f"/proc/self/ns/{kind}") for kind in ("pid", "time")]
    return "/".join(filter(None, found)) if found[0] else ""


def _inode(path: str) -> str:
    try:
        return str(os.stat(path).st_ino)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
