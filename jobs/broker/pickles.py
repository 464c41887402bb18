"""Reads a pickle as what it is, a small program, without being its interpreter.

Each instruction moves symbols over a stack (see ``symbols``). Nothing is imported, called or built, whatever the
program asks for.
"""

from __future__ import annotations

import struct
from typing import Any

from jobs.broker.instructions import INSTRUCTIONS, STOP
from jobs.broker.pickle_walk import Walk
from jobs.broker.symbols import UNFINISHED, CallParts, Damaged, EndOfData, Pairs, TooMuch, from_pairs

MAX_STEPS = 600_000
"""Instructions that are followed, a few tenths of a second's work. A call that needs more is read in part."""


def read_pickle(walk: Walk) -> Any:
    """Follow the program to its end and return the symbol it leaves.

    Raises EndOfData when the data (or our patience) ends first, Damaged when it is no pickle.
    """
    data, size = walk.data, len(walk.data)
    try:
        for _ in range(MAX_STEPS):
            if walk.position >= size:
                raise EndOfData
            code = data[walk.position]
            walk.position += 1
            if code == STOP:
                return walk.stack.pop()
            INSTRUCTIONS[code](walk)
    except (IndexError, KeyError, ValueError, TypeError, struct.error) as error:
        raise Damaged(str(error)) from error
    raise TooMuch


def call_so_far(walk: Walk) -> CallParts | None:
    """The leading parts of a call whose program was not followed to its end; None when not even a function is known.

    The stack shows the call in the making: its four items stand above the first mark, the arguments above the second
    one when they are more than three. A tuple that was still being made cannot be told from its items lying there, so
    of an argument that is a tuple, and in which the data ended, the leading items are taken for arguments. Lists, dicts
    and objects can be told.
    """
    frames = walk.open_frames()
    items = frames[1] if len(frames) > 1 else []
    inner = frames[2] if len(frames) > 2 else None
    if len(items) < 2:
        return None
    function, instance, *rest = items
    if instance is not None:
        return CallParts(function, instance, [], [])
    if not rest:
        return CallParts(function, None, _finished(inner or []), [])
    if not isinstance(rest[0], tuple):
        return CallParts(function, None, _finished(rest), [])
    if len(rest) > 1 and isinstance(rest[1], Pairs):
        waiting = inner if len(rest) == 2 and inner else []
        return CallParts(function, None, list(rest[0]), rest[1].items + _finished_pairs(waiting))
    return CallParts(function, None, [], [])


def _finished(items: list[Any]) -> list[Any]:
    """The leading items that no later instruction can change or use up."""
    for index, item in enumerate(items):
        if isinstance(item, UNFINISHED):
            return items[:index]
    return list(items)


def _finished_pairs(flat: list[Any]) -> list[tuple[Any, Any]]:
    done = _finished(flat)
    return from_pairs(done[: len(done) // 2 * 2])
