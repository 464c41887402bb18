"""Errors that nobody foresaw: kept to the job that they are about, and said without what stood in it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from django.db import DatabaseError, DataError, IntegrityError, InterfaceError

from jobs.broker.errors import BrokerUnavailable

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def told(error: Exception) -> str:
    """An error's class and place. Its text is left out: it may hold what stood in a job."""
    *_outer, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"


def is_of_all(error: Exception) -> bool:
    """Whether store or database are in trouble; a row that the database refuses is one row's."""
    is_of_one = isinstance(error, (DataError, IntegrityError))
    return isinstance(error, (BrokerUnavailable, DatabaseError, InterfaceError)) and not is_of_one


def apart(
    do: Callable[[Sequence[_Item]], Sequence[_Made]],
    items: Sequence[_Item],
    instead: Callable[[_Item, Exception], _Made],
) -> list[_Made]:
    """What `do` makes of these; where an error that nobody foresaw ends it, what it makes of each by itself.

    One that fails by itself too has `instead`, and holds up no other. `do` must be all or nothing, or safe to be done
    twice. Raises what is wrong with store or database.
    """
    try:
        return list(do(items))
    except Exception as error:
        if is_of_all(error):
            raise
        if len(items) == 1:
            return [instead(items[0], error)]
    return [one for item in items for one in apart(do, [item], instead)]
