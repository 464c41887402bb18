"""Makes the virtual environments that the Makefile's targets need; a second call finds them made and is done at once.

Run by a bare Python, before anything is installed: nothing but the standard library here, and no other module of ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

LEAST = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = {
    "run": {".venv": "requirements.txt"},
    "test": {".venv": "requirements-dev.txt", ".venv-rq2": "requirements-rq2.txt"},
}
"""What each kind of use needs: environment -> requirements file."""


def main(arguments: list[str]) -> int:
    if arguments == ["why-not"]:
        print(reason := why_not() or "")
        return 1 if reason else 0
    if len(arguments) != 1 or arguments[0] not in ENVIRONMENTS:
        print(f"usage: bootstrap.py why-not | {' | '.join(ENVIRONMENTS)}")
        return 2
    return 0 if all(provide(ROOT / name, ROOT / file) for name, file in ENVIRONMENTS[arguments[0]].items()) else 1


def why_not() -> str | None:
    """Why this Python can't make the environments, in a few words; None when it can."""
    if sys.version_info < LEAST:
        return f"is {sys.version.split()[0]}, too old"
    try:
        import ensurepip  # noqa: F401 - asked for, not used
        import venv  # noqa: F401 - asked for, not used
    except ImportError:
        return f"has no venv module; on Debian: apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    return None


def provide(folder: Path, requirements: Path) -> bool:
    """See to it that `folder` is an environment with what `requirements` names; False, and said, when it can't be."""
    stamp, wanted = folder / "opsboard-installed.json", _digests(requirements)
    installed, origin = _read(stamp), {"folder": str(folder), "python": sys.version.split()[0]}
    if not installed.items() >= origin.items() or not _starts(folder):
        print(f"Making {folder.name} with Python {origin['python']}.", flush=True)
        # An environment that runs this very file can't clear itself away; the Python that it was made from can.
        maker = getattr(sys, "_base_executable", sys.executable)
        if subprocess.call([maker, "-m", "venv", "--clear", str(folder)]):  # noqa: S603 - our own Python
            print(f"{folder.name} could not be made; the reason is above.")
            return False
        installed = {}
    elif installed.items() >= wanted.items():
        return True
    return _install(folder, requirements, stamp, {**installed, **wanted, **origin})


def _install(folder: Path, requirements: Path, stamp: Path, content: dict[str, str]) -> bool:
    print(f"Installing what {requirements.name} names; the first time takes a minute or two.", flush=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    if subprocess.call([*pip, "--requirement", str(requirements)]):  # noqa: S603 - our own Python
        print("That did not work: pip's own words are above. It needs to reach a package index, once.")
        return False
    stamp.write_text(json.dumps(content))
    return True


def _digests(requirements: Path) -> dict[str, str]:
    """A digest of the file, and of each that it includes: what is installed from one need not be again for another."""
    text = requirements.read_text("utf-8")
    found = {requirements.name: hashlib.sha256(text.encode()).hexdigest()}
    for included in re.findall(r"^-r\s+(\S+)", text, re.MULTILINE):
        found.update(_digests(requirements.with_name(included)))
    return found


def _read(stamp: Path) -> dict[str, str]:
    try:
        return dict(json.loads(stamp.read_text()))
    except (OSError, ValueError):
        return {}


def _starts(folder: Path) -> bool:
    """Whether the environment's Python starts at all: the one that it was made from may be gone."""
    python = folder / "bin" / "python"
    return os.access(python, os.X_OK) and subprocess.call([str(python), "-c", ""]) == 0  # noqa: S603


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
