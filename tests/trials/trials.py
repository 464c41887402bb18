"""The trials: what is done, and what must be seen. Each ends quietly, or raises AssertionError."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.exports.processes import has_gone, kill
from tests.exports.shop import read
from tests.support.real_rq import wait_until
from tests.trials.scene import ORDERS, SECONDS, Scene


def stop_the_worker(scene: Scene) -> None:
    """Stop the worker in the middle: the export ends at a stage, and is finished after the restart."""
    export_id = scene.ask("2025")
    scene.wait_for_rows(export_id, 2000)
    horse, begun = scene.worker.horse, time.monotonic()
    code = scene.worker.stop()
    scene.say(f"The worker is told to stop, and ends after {time.monotonic() - begun:.1f} s with code {code}.")
    assert horse and has_gone(horse), "the job's process outlived its worker"
    assert scene.outcomes(export_id) == ["retrying"], f"the attempts are {scene.outcomes(export_id)}"
    assert scene.site.names() == [], f"in the folder are {scene.site.names()}"
    assert scene.page(export_id)["status"] == "running"
    scene.say("The export waits to be taken up again: no file, nothing left over, and its page says: running.")
    scene.start_worker_again()
    scene.wait_for(export_id, "ready")
    assert scene.outcomes(export_id) == ["retrying", "completed"]
    scene.require_whole(export_id)


def kill_the_worker(scene: Scene) -> None:
    """Kill worker and job in the middle: nothing of the file is to be seen, and it is finished after the restart."""
    export_id = scene.ask("2025")
    scene.wait_for_rows(export_id, 2000)
    horse = scene.worker.horse
    assert horse is not None
    scene.worker.end()
    kill(horse)
    wait_until(lambda: has_gone(horse), "the job's process is gone")
    left = scene.site.names()
    assert len(left) == 1 and left[0].endswith(".part"), f"in the folder are {left}"
    scene.say(
        "kill -9 to the worker and to the job's process: a left-over lies there, under no name that is handed out."
    )
    wait_until(lambda: scene.outcomes(export_id) == ["lost"], "the observer takes it over", SECONDS)
    assert scene.page(export_id)["status"] in ("accepted", "running")
    scene.say("The observer has seen that the process is gone, and queued the export again; nobody had to come.")
    scene.start_worker_again()
    scene.wait_for(export_id, "ready")
    assert scene.outcomes(export_id) == ["lost", "completed"]
    scene.require_whole(export_id)


def restart_the_web(scene: Scene) -> None:
    """Restart the web in the middle: the export is not interrupted, and its page is right before and after."""
    export_id = scene.ask("2025")
    before = scene.wait_for_rows(export_id, 1000)
    scene.wait_for(export_id, "running")
    scene.web.stop()
    scene.say("The web is stopped.")
    scene.web = scene.site.web()
    scene.say("The web is started again, and the same session goes on.")
    told = scene.page(export_id)
    assert told["status"] in ("running", "ready"), f"the page says {told['status']}"
    wait_until(lambda: _rows_of(scene, export_id) > before, "more rows are written", SECONDS)
    scene.wait_for(export_id, "ready")
    assert scene.outcomes(export_id) == ["completed"], f"the attempts are {scene.outcomes(export_id)}"
    scene.require_whole(export_id)


def ask_for_what_does_not_exist(scene: Scene) -> None:
    """Ask for a period that does not exist: it fails with the reason, and is not tried again."""
    export_id = scene.ask("2025-13")
    export = scene.wait_for(export_id, "failed")
    reason = "There is no month 13: a year has months 01 to 12."
    assert reason in scene.site.look(scene.browser, f"/exports/{export_id}/").text
    scene.say(f"The reason on its page: {reason}")
    # Longer than the observer, or RQ's scheduler, would take to bring another attempt.
    time.sleep(3)
    assert scene.outcomes(export_id) == ["failed"], f"the attempts are {scene.outcomes(export_id)}"
    assert export.operation is not None and export.operation.deliveries.count() == 1
    assert (scene.site.names(), scene.site.mails_about(export_id)) == ([], 0)
    scene.say("Three seconds later: one attempt, no other queued, no file, no mail.")


TRIALS: dict[str, Callable[[Scene], None]] = {
    "The worker is stopped in the middle": stop_the_worker,
    "The worker is killed in the middle": kill_the_worker,
    "The web is restarted in the middle": restart_the_web,
    "The wish can't be granted": ask_for_what_does_not_exist,
}


def _rows_of(scene: Scene, export_id: int) -> int:
    operation = read(export_id).operation
    assert operation is not None
    return ORDERS if operation.status == "completed" else operation.progress_done or 0
