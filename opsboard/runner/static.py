"""Whether the static files were collected from what is there now: compressing them takes longer than all else."""

from __future__ import annotations

import hashlib

from opsboard.runner.plan import ROOT

_SOURCES = (ROOT / "static", ROOT / ".venv/opsboard-installed.json")
_BUILT = ROOT / "static-built"
_NOTE = _BUILT / "collected-from.txt"


def is_collected() -> bool:
    """Whether nothing has changed since `note_collected`."""
    try:
        return (_BUILT / "staticfiles.json").exists() and _NOTE.read_text() == _fingerprint()
    except OSError:
        return False


def note_collected() -> None:
    """Remember what the files were collected from."""
    _NOTE.write_text(_fingerprint())


def _fingerprint() -> str:
    files = [path for source in _SOURCES for path in (source, *sorted(source.rglob("*"))) if path.is_file()]
    seen = [f"{path.relative_to(ROOT)} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in files]
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()
