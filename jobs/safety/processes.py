"""Which process this is, whether another one is dead for certain, and dying with one's parent (protocol, Choices)."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A process as nothing else is named; '' where the system does not say."""

    host: str = ""
    boot_id: str = ""
    pid_namespace: str = ""
    pid: int | None = None
    process_started: str = ""


def own_identity() -> Identity:
    """This process's own."""
    return _identity_of(os.getpid())


def is_gone(identity: Identity) -> bool:
    """Whether that process is proved dead: the same boot and PID namespace, and no such process lives.

    Anything less is no proof: a host's name, or a pid alone, can be another's by now.
    """
    here = own_identity()
    if not (identity.boot_id and identity.pid_namespace and identity.pid and identity.process_started):
        return False
    if (identity.boot_id, identity.pid_namespace) != (here.boot_id, here.pid_namespace):
        return False
    return _started_of(identity.pid) != identity.process_started


def die_with_parent(expected_parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends; and end at once if that has happened (Linux only)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "prctl"):
        return
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != expected_parent:
        os.kill(os.getpid(), signal.SIGKILL)


# ----------------------------------------------------------------------------------------------------------------------


@cache
def _identity_of(pid: int) -> Identity:
    """Cached by pid: a child of a fork has its own."""
    return Identity(
        host=socket.gethostname()[:255],
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
        pid_namespace=_namespace(),
        pid=pid,
        process_started=_started_of(pid),
    )


def _started_of(pid: int) -> str:
    """Clock ticks from boot to its start; '' for one that does not live, a zombie included."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in ("Z", "X") else ""


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
