"""Named places of the write order at which a test can do harm; everywhere else they do nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

VARIABLE = "OPSBOARD_TEST_POINTS"
"""Names a function, `module:function`, that is called with the name of each point that is passed."""


def _nothing(name: str) -> None:
    """What happens at every point outside tests."""


def _chosen() -> Callable[[str], None]:
    module, _, function = os.environ.get(VARIABLE, "").partition(":")
    return getattr(import_module(module), function) if module else _nothing


point = _chosen()
