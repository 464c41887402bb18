"""A plugin of pytest that runs the tests of each safeguard in a process that has lost it: `pytest -p …`.

One that does not stand where it is looked for is no pass: a safeguard that was renamed may not look as if it were
tested. What came of each is written to the file that MUTANTS_REPORT names.
"""

from __future__ import annotations

import inspect
import json
import os
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.safeguard import Safeguard
from tests.mutations.safeguards import SAFEGUARDS

NONE = "nothing taken out"
"""The same tests in a fork like the others: there each of them has to pass."""


def pytest_runtestloop(session: pytest.Session) -> bool:
    """For each safeguard a fork of this process, in which the product and the tests are imported already."""
    if session.testsfailed:
        return False
    found = {name: _in_a_fork(session, name) for name in (NONE, *SAFEGUARDS)}
    Path(os.environ["MUTANTS_REPORT"]).write_text(json.dumps(found))
    return True


def _in_a_fork(session: pytest.Session, name: str) -> str:
    """The ids of the tests that passed without the safeguard, a line each."""
    answer, told = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(answer)
        with os.fdopen(told, "w") as pipe:
            pipe.write("\n".join(_passed_without(session, SAFEGUARDS.get(name))))
        os._exit(0)
    os.close(told)
    with os.fdopen(answer) as pipe:
        passed = pipe.read()
    os.waitpid(pid, 0)
    return passed


def _is_of(item: pytest.Item, safeguard: Safeguard) -> bool:
    return any(item.nodeid == test or item.nodeid.startswith(f"{test}[") for test in safeguard.tests)


def _passed_without(session: pytest.Session, safeguard: Safeguard | None) -> list[str]:
    """The tests that do not fail without it, or why it could not be told."""
    items = [item for item in session.items if safeguard is None or _is_of(item, safeguard)]
    if not items:
        return ["none of its tests was found"]
    try:
        if safeguard:
            take_out(safeguard)
    except Exception:
        return [traceback.format_exc()]
    return [
        item.nodeid
        for item, following in zip(items, [*items[1:], None], strict=True)
        if _passes(session, item, following)
    ]


def _passes(session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> bool:
    failed_before = session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return session.testsfailed == failed_before


def take_out(safeguard: Safeguard) -> None:
    """Change the product in this process. Raises LookupError when the safeguard does not stand there exactly once."""
    if safeguard.place.endswith(".lua"):
        _change_script(safeguard)
    else:
        _change_function(safeguard)


def _change_script(safeguard: Safeguard) -> None:
    from jobs.broker import commands

    original = (Path(commands.__file__).parent / "lua" / safeguard.place).read_text()
    changed, source = _without(safeguard, original), commands._source
    commands._source = lambda script: source(script).replace(original, changed)  # type: ignore[assignment]


def _change_function(safeguard: Safeguard) -> None:
    """Exchange the code inside of the function, so that whoever has imported it by name has the changed one too."""
    module, _dot, name = safeguard.place.rpartition(".")
    function: Any = inspect.unwrap(getattr(import_module(module), name))
    lines = inspect.getsource(function).splitlines(keepends=True)
    source = "".join(line for line in lines if not line.startswith("@"))
    made: dict[str, Callable[..., Any]] = {}
    exec(f"from __future__ import annotations\n{_without(safeguard, source)}", dict(function.__globals__), made)
    function.__code__ = made[name].__code__


def _without(safeguard: Safeguard, text: str) -> str:
    if (times := text.count(safeguard.old)) != 1:
        raise LookupError(f"{safeguard.place} has {times} times, instead of once: {safeguard.old}")
    return text.replace(safeguard.old, safeguard.new)
