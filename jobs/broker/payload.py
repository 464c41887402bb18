"""Reads the call a job stores, without executing anything of it.

RQ stores zlib of a pickle (or JSON, as each process chooses; it is not recorded) of
``(function name, instance or None, args, kwargs)``. Unpickling would run whatever the writer wanted, so the pickle is
only walked: see ``pickles``.
"""

from __future__ import annotations

from typing import Any

from jobs.broker.inflate import inflate
from jobs.broker.json_calls import JsonWalk, json_call_so_far, read_json
from jobs.broker.pickle_walk import Walk
from jobs.broker.pickles import call_so_far, read_pickle
from jobs.broker.pruning import to_call
from jobs.broker.symbols import CallParts, Damaged, EndOfData, Pairs, TooMuch
from jobs.domain.calls import Call, Unreadable

MAX_BYTES = 32 * 1024 * 1024


def read_call(data: bytes | None, *, max_bytes: int = MAX_BYTES) -> Call | Unreadable:
    """The call in ``data``, the bytes of the job hash's field of that name.

    At most ``max_bytes`` unpacked bytes are looked at. When there are more, or more values than can be looked after,
    the function and the leading arguments are given with ``complete=False``. Never raises.
    """
    if not data:
        return Unreadable("no call is stored")
    unpacked = inflate(data, max_bytes=max_bytes)
    if unpacked.damaged and unpacked.data:
        return Unreadable("the stored call is damaged")
    if unpacked.damaged:  # not compressed: RQ before 0.13 wrote it so, and later ones still read it
        raw, is_whole = data[:max_bytes], len(data) <= max_bytes
    else:
        raw, is_whole = unpacked.data, unpacked.complete
    return _read(raw, is_whole=is_whole, max_bytes=max_bytes)


def _read(raw: bytes, *, is_whole: bool, max_bytes: int) -> Call | Unreadable:
    try:
        parts, complete = _json(raw, is_whole=is_whole) if _is_json(raw) else _pickle(raw, is_whole=is_whole)
    except Damaged:
        return Unreadable("not a pickle or JSON call")
    except EndOfData:
        return Unreadable("the stored call is cut off")
    if parts is None:
        return Unreadable(f"larger than {_size(max_bytes)}" if not is_whole else "too many values to be looked at")
    return to_call(parts, complete=complete)


def _is_json(raw: bytes) -> bool:
    return raw.lstrip()[:1] == b"["  # no pickle starts so


def _pickle(raw: bytes, *, is_whole: bool) -> tuple[CallParts | None, bool]:
    walk = Walk(raw)
    try:
        return _parts(read_pickle(walk)), True
    except EndOfData as end:
        if is_whole and not isinstance(end, TooMuch):
            raise
        return call_so_far(walk), False


def _json(raw: bytes, *, is_whole: bool) -> tuple[CallParts | None, bool]:
    try:
        text = raw.decode("utf-8", "strict" if is_whole else "ignore")
    except UnicodeDecodeError as error:
        raise Damaged(str(error)) from error
    walk = JsonWalk(text)
    try:
        return _parts(read_json(walk)), True
    except EndOfData as end:
        if is_whole and not isinstance(end, TooMuch):
            raise
        return json_call_so_far(walk), False


def _parts(root: Any) -> CallParts:
    if not isinstance(root, list | tuple) or len(root) != 4:
        raise Damaged("not a call")
    function, instance, args, kwargs = root
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Pairs):
        raise Damaged("not a call")
    return CallParts(function, instance, list(args), kwargs.items)


def _size(size_bytes: int) -> str:
    mega = size_bytes / (1024 * 1024)
    return f"{mega:.0f} MB" if mega >= 1 else f"{size_bytes // 1024} kB"
