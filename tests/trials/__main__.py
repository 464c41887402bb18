"""The trials for people who watch: `python -m tests.trials`. Ends with 1 when one of them did not hold."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from opsboard.runner.valkey import free_port
from tests.support.postgresql import a_database

if TYPE_CHECKING:
    from tests.trials.scene import Scene


def main(arguments: list[str]) -> int:
    """Each trial in turn, in words, and a verdict for each."""
    folder = Path(tempfile.mkdtemp(prefix="opsboard-trials-"))
    try:
        with a_database("postgresql" if "postgresql" in arguments else "sqlite", folder) as url:
            return _run(folder, url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ----------------------------------------------------------------------------------------------------------------------


def _run(folder: Path, database_url: str) -> int:
    _set_up(folder, database_url)
    from tests.trials.scene import Told, a_scene
    from tests.trials.trials import TRIALS

    _write("The trials of the exports, with real processes. What is done, and what is seen:\n\n")
    say = Told(_write)
    verdicts: dict[str, bool] = {}
    with a_scene(folder / "site", database_url, say) as scene:
        for name, trial in TRIALS.items():
            _write(f"\n{name}\n")
            verdicts[name] = _holds(trial, scene)
            _clear(scene)
    _write("\n")
    for name, holds in verdicts.items():
        _write(f"{'holds' if holds else 'DOES NOT HOLD':15}{name}\n")
    return 0 if all(verdicts.values()) else 1


def _holds(trial: Callable[[Scene], None], scene: Scene) -> bool:
    try:
        trial(scene)
    except AssertionError as error:
        scene.say(f"This does not hold: {str(error) or traceback.format_exc(limit=-1)}")
        return False
    return True


def _clear(scene: Scene) -> None:
    """The next trial finds its services at work, and an empty folder."""
    scene.worker.end()
    scene.worker = scene.site.worker()
    for name in scene.site.names():
        (scene.site.files / name).unlink()


def _set_up(folder: Path, database_url: str) -> None:
    """Load Django on the database of the trials, as the services do, and migrate it."""
    for name in [name for name in os.environ if name.startswith(("OPSBOARD_", "REDIS_", "RQ_"))]:
        del os.environ[name]
    (folder / "var").mkdir()
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.exports.process_settings",
        "OPSBOARD_VAR": str(folder / "var"),
        "OPSBOARD_SECRET_KEY": "only-for-tests-" * 4,
        "OPSBOARD_EXPORTS": "1",
        "OPSBOARD_LOG_LEVEL": "WARNING",
        "EXPORTS_MAILS": str(folder / "mails"),
        "DATABASE_URL": database_url,
        # Nobody listens there: what is submitted goes to the job store of the trials.
        "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _write(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
