"""`make run`: everything a person needs to try opsboard, or to look after an RQ of their own, in one terminal."""

from __future__ import annotations

import os
import sys
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from django.core.exceptions import ImproperlyConfigured

from opsboard.runner import static
from opsboard.runner.greeting import greeting
from opsboard.runner.plan import PYTHON, ROOT, Plan, Refused, holding, read_plan
from opsboard.runner.supervisor import ChildEnded, StopAsked, Supervisor

# A proxy of the environment has no business between this machine and itself.
_OPENER = build_opener(ProxyHandler({}))


def main() -> int:
    os.chdir(ROOT)
    try:
        plan = read_plan(os.environ)
        with holding(plan) as lock:
            return _run(plan, Supervisor(_say, logs=plan.logs, keep=[lock]))
    except (Refused, ImproperlyConfigured) as refusal:
        _say(str(refusal))
        return 1


def _run(plan: Plan, supervisor: Supervisor) -> int:
    with supervisor.listening():
        try:
            _say(greeting(plan, _start(plan, supervisor)))
            supervisor.watch()
        except StopAsked:
            _say("Stopping.")
            code = 0
        except (ChildEnded, TimeoutError) as end:
            _say(f"{end}; stopping everything.")
            code = 1
    _say("Stopped.")
    return code


def _start(plan: Plan, supervisor: Supervisor) -> list[str]:
    """Start everything in order, and return the lines that the person must read. Raises ChildEnded, TimeoutError."""
    if plan.valkey is not None:
        supervisor.start("valkey", plan.valkey.command(), plan.environ)
        supervisor.wait_for(plan.valkey.answers, f"Valkey's start (see {plan.valkey.log})", seconds=120)
    _say("Preparing the database and the static files.")
    _manage(plan, supervisor, "migrate", "--no-input", "--verbosity=0")
    if not static.is_collected():
        _manage(plan, supervisor, "collectstatic", "--no-input", "--verbosity=0")
        static.note_collected()
    for process in plan.processes:
        supervisor.start(
            process.name,
            [PYTHON, *process.arguments],
            process.environ,
            is_quiet=process.is_quiet,
            grace_seconds=process.grace_seconds,
        )
    supervisor.wait_for(lambda: _is_healthy(plan), "the first answer of the web process", seconds=60)
    if plan.has_demo:
        _say("Loading the demo; the first time its worker runs all of its jobs.")
    return _manage(plan, supervisor, "load_demo" if plan.has_demo else "grant_first_access")


def _manage(plan: Plan, supervisor: Supervisor, name: str, *options: str) -> list[str]:
    """Run one of Django's commands; what it says is printed only if it fails."""
    return supervisor.finish(name, [PYTHON, "manage.py", name, *options], plan.environ, is_quiet=True)


def _is_healthy(plan: Plan) -> bool:
    try:
        with _OPENER.open(f"{plan.address}healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _say(line: str) -> None:
    try:
        print(line, flush=True)
    except OSError:
        # The terminal has gone; what is left to do is done without words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
