"""Writes the units of systemd for one installation: `python3 deploy/render.py /etc/systemd/system`.

Run by any Python, as root on the server: nothing but the standard library here, and no other module of ours.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

OWN_ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "systemd"
TEMPLATE_KINDS = (".service", ".timer", ".conf")
# What systemd, or the shell of whoever copies a line, would read as more than a name.
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9_.+-]+)+")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
# ProtectHome and PrivateTmp put empty folders in their place.
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108  # refused, not used


class Refused(Exception):
    """Nothing was written; the text is one sentence with the remedy."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What differs from server to server. `root`: the release that the units start, with its .venv."""

    root: Path
    config: Path = Path("/etc/opsboard")
    user: str = "opsboard"
    worker: str = "opsboard-worker"
    group: str = "opsboard"

    @property
    def python(self) -> Path:
        return self.root / ".venv/bin/python"

    @property
    def placeholders(self) -> dict[str, str]:
        values = {"ROOT": self.root, "CONFIG": self.config}
        names = {"USER": self.user, "WORKER": self.worker, "GROUP": self.group}
        return {f"@{name}@": str(value) for name, value in {**values, **names}.items()}


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    installation = Installation(
        root=given.root, config=given.config, user=given.user, worker=given.worker, group=given.group
    )
    try:
        require_plain(installation)
        require_startable(installation)
        written = write_units(installation, given.folder)
    except Refused as refusal:
        sys.stderr.write(f"Error: {refusal}\n")
        return 1
    sys.stdout.writelines(f"{path}\n" for path in written)
    return 0


def require_plain(installation: Installation) -> None:
    """Raises Refused for what systemd would read as something else than a path or a name."""
    for option, path in (("--root", installation.root), ("--config", installation.config)):
        if not path.is_absolute():
            raise Refused(f"{option} must be a whole path, from / on.")
        if not _PLAIN_PATH.fullmatch(str(path)) or ".." in path.parts:
            raise Refused(f"{option} may hold letters, digits and _ . + - between its slashes; use another folder.")
    for option, name in (("--user", installation.user), ("--worker", installation.worker)):
        if name == "root":
            raise Refused(f"{option} must not be root; make an account with: adduser --system.")
    for option in ("user", "worker", "group"):
        if not _PLAIN_NAME.fullmatch(getattr(installation, option)):
            raise Refused(f"--{option} must be a name of small letters, digits, _ and -; choose another.")


def require_startable(installation: Installation) -> None:
    """Raises Refused where the units could not start what they name."""
    for path, remedy in (
        (installation.root / "manage.py", "name the folder of a release"),
        (installation.python, "make it with: python3 opsboard/bootstrap.py run"),
    ):
        if not path.is_file():
            raise Refused(f"{path} is missing; {remedy}.")
    if _is_hidden(installation.root.resolve()):
        raise Refused(f"Services can't see {installation.root}; put the release elsewhere, as in /opt/opsboard.")
    if _is_hidden(installation.python.resolve()):
        raise Refused(
            f"The environment was made with {installation.python.resolve()}, which services can't see; "
            "make it again with the system's own: rm -r .venv && /usr/bin/python3 opsboard/bootstrap.py run"
        )


def write_units(installation: Installation, folder: Path) -> list[Path]:
    """Write every unit and drop-in into `folder`, and return where. Raises Refused when that can't be."""
    written = []
    for template in sorted(path for path in TEMPLATES.rglob("*") if path.suffix in TEMPLATE_KINDS):
        target = folder / template.relative_to(TEMPLATES)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled(template.read_text("utf-8"), installation), "utf-8")
        except OSError as error:
            raise Refused(
                f"{target} can't be written ({error.strerror}); run it as root or name another folder."
            ) from None
        written.append(target)
    return written


def _filled(text: str, installation: Installation) -> str:
    for placeholder, value in installation.placeholders.items():
        text = text.replace(placeholder, value)
    return text


def _is_hidden(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in _HIDDEN)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Writes opsboard's units for systemd.")
    parser.add_argument("folder", type=Path, help="where to, /etc/systemd/system on a server")
    parser.add_argument(
        "--root", type=Path, default=OWN_ROOT, help="the release to start; else the one this file is of"
    )
    parser.add_argument("--config", type=Path, default=Installation.config, help="the folder of opsboard.env")
    parser.add_argument("--user", default=Installation.user, help="the account of the pages and the observer")
    parser.add_argument("--worker", default=Installation.worker, help="the account of the workers")
    parser.add_argument("--group", default=Installation.group, help="the group of both")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
