"""A plugin of pytest that takes one safeguard out of the product before the tests run: `WITHOUT=… pytest -p …`.

One that does not stand where it is looked for stops the run: a safeguard that was renamed may not look as if it were
tested.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.safeguards import SAFEGUARDS, Safeguard


def pytest_sessionstart() -> None:
    if name := os.environ.get("WITHOUT"):
        take_out(SAFEGUARDS[name])


def take_out(safeguard: Safeguard) -> None:
    """Change the product in this process. Raises UsageError when the safeguard does not stand there exactly once."""
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
        raise pytest.UsageError(f"{safeguard.place} has {times} times, instead of once: {safeguard.old}")
    return text.replace(safeguard.old, safeguard.new)
