"""What each instruction of a pickle means for the stack of symbols (protocols 0 to 5, CPython's pickletools.py)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from jobs.broker.pickle_walk import Walk
from jobs.broker.symbols import (
    DIGITS_LIMIT,
    Damaged,
    Members,
    Named,
    Pairs,
    Thing,
    called,
    from_pairs,
    made_new,
    set_state,
    short_int,
)


def _proto(walk: Walk) -> None:
    walk.take(1)


def _frame(walk: Walk) -> None:
    walk.take(8)  # a hint for readers of files; of no meaning here


def _mark(walk: Walk) -> None:
    walk.frames.append(walk.stack)
    walk.stack = []


def _pop(walk: Walk) -> None:
    if walk.stack:
        walk.stack.pop()
    else:
        walk.to_mark()


def _pop_mark(walk: Walk) -> None:
    walk.to_mark()


def _dup(walk: Walk) -> None:
    walk.stack.append(walk.stack[-1])


# Numbers and names


def _constant(value: Any) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(value)


def _fixed(size: int, *, signed: bool = False) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(walk.number(size, signed=signed))


def _int_line(walk: Walk) -> None:
    line = walk.line()
    walk.stack.append(line == b"01" if line in (b"00", b"01") else short_int(line.decode("ascii")))


def _long_line(walk: Walk) -> None:
    walk.stack.append(short_int(walk.line().decode("ascii").removesuffix("L")))


def _long(size_bytes: int) -> Callable[[Walk], None]:
    def push(walk: Walk) -> None:
        raw = walk.take(walk.number(size_bytes, signed=size_bytes == 4))
        short = len(raw) * 5 <= DIGITS_LIMIT * 2  # a byte is 2.41 digits
        walk.stack.append(int.from_bytes(raw, "little", signed=True) if short else Thing("builtins.int", []))

    return push


def _float_line(walk: Walk) -> None:
    walk.stack.append(float(walk.line()[:DIGITS_LIMIT]))


def _float(walk: Walk) -> None:
    walk.stack.append(struct.unpack(">d", walk.take(8))[0])


def _global(walk: Walk) -> None:
    module, name = walk.line(), walk.line()
    walk.stack.append(Named(_plain(module), _plain(name)))


def _stack_global(walk: Walk) -> None:
    name, module = walk.stack.pop(), walk.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise Damaged("a name that is no text")
    walk.stack.append(Named(module, name))


# Text and bytes


def _text(size_bytes: int) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(walk.take(walk.number(size_bytes)).decode("utf-8", "surrogatepass"))


def _bytes(size_bytes: int) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(walk.take(walk.number(size_bytes)))


def _old_text(size_bytes: int) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(_plain(walk.take(walk.number(size_bytes, signed=size_bytes == 4))))


def _string_line(walk: Walk) -> None:
    line = walk.line()
    if len(line) < 2 or line[:1] not in (b"'", b'"') or line[:1] != line[-1:]:
        raise Damaged("a text without quotes")
    walk.stack.append(_plain(ESCAPE.sub(_unescaped, line[1:-1])))


def _unescaped(match: re.Match[bytes]) -> bytes:
    """One escape of a Python byte string; codecs.escape_decode would do, but warns about odd ones."""
    code = match[1]
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8) & 255])
    return ESCAPED.get(code, b"\\" + code)


def _unicode_line(walk: Walk) -> None:
    walk.stack.append(walk.line().decode("raw-unicode-escape"))


def _plain(raw: bytes) -> str | bytes:
    """Python 2 wrote text and bytes alike."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


# Containers


def _empty_list(walk: Walk) -> None:
    walk.stack.append([])


def _empty_dict(walk: Walk) -> None:
    walk.stack.append(Pairs([]))


def _empty_set(walk: Walk) -> None:
    walk.stack.append(Members([], frozen=False))


def _marked(make: Callable[[list[Any]], Any]) -> Callable[[Walk], None]:
    def push(walk: Walk) -> None:
        items = walk.to_mark()
        walk.stack.append(make(items))

    return push


def _tuple_of(size: int) -> Callable[[Walk], None]:
    def push(walk: Walk) -> None:
        if len(walk.stack) < size:
            raise Damaged("too few items")
        walk.stack[-size:] = [tuple(walk.stack[-size:])]

    return push


def _append(walk: Walk) -> None:
    item = walk.stack.pop()
    _extend(walk.stack[-1], [item])


def _appends(walk: Walk) -> None:
    items = walk.to_mark()
    _extend(walk.stack[-1], items)


def _extend(target: Any, items: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(items)
    elif isinstance(target, Thing):
        target.parts.extend(items)
    elif isinstance(target, Members):
        target.items.extend(items)
    else:
        raise Damaged("items for something that holds none")


def _set_item(walk: Walk) -> None:
    value, key = walk.stack.pop(), walk.stack.pop()
    _update(walk.stack[-1], [key, value])


def _set_items(walk: Walk) -> None:
    items = walk.to_mark()
    _update(walk.stack[-1], items)


def _update(target: Any, flat: list[Any]) -> None:
    pairs = from_pairs(flat)
    if isinstance(target, Pairs):
        target.items.extend(pairs)
    elif isinstance(target, Thing):
        target.parts.extend(flat)
    else:
        raise Damaged("keys for something that has none")


# Objects, none of which is made


def _reduce(walk: Walk) -> None:
    args, function = walk.stack.pop(), walk.stack.pop()
    walk.stack.append(called(function, args))


def _new_object(walk: Walk) -> None:
    args, cls = walk.stack.pop(), walk.stack.pop()
    walk.stack.append(made_new(cls, args))


def _new_object_ex(walk: Walk) -> None:
    kwargs, args, cls = walk.stack.pop(), walk.stack.pop(), walk.stack.pop()
    walk.stack.append(made_new(cls, (args, kwargs)))


def _build(walk: Walk) -> None:
    state = walk.stack.pop()
    set_state(walk.stack[-1], state)


def _instance(walk: Walk) -> None:
    cls = Named(_plain(walk.line()), _plain(walk.line()))
    args = tuple(walk.to_mark())
    walk.stack.append(made_new(cls, args))


def _object(walk: Walk) -> None:
    cls, *args = walk.to_mark()
    walk.stack.append(made_new(cls, tuple(args)))


def _extension(size: int) -> Callable[[Walk], None]:
    def push(walk: Walk) -> None:
        walk.take(size)
        walk.stack.append(Thing("extension", []))

    return push


def _persistent_line(walk: Walk) -> None:
    walk.stack.append(Thing("persistent id", [_plain(walk.line())]))


def _persistent(walk: Walk) -> None:
    walk.stack.append(Thing("persistent id", [walk.stack.pop()]))


def _next_buffer(walk: Walk) -> None:
    walk.stack.append(Thing("buffer", []))


def _read_only_buffer(walk: Walk) -> None:
    if not walk.stack:
        raise Damaged("no buffer")


# Memory


def _get_line(walk: Walk) -> None:
    walk.stack.append(walk.memo[int(walk.line()[:20])])


def _get(size: int) -> Callable[[Walk], None]:
    return lambda walk: walk.stack.append(walk.memo[walk.number(size)])


def _put_line(walk: Walk) -> None:
    walk.memo[int(walk.line()[:20])] = walk.stack[-1]


def _put(size: int) -> Callable[[Walk], None]:
    def keep(walk: Walk) -> None:
        walk.memo[walk.number(size)] = walk.stack[-1]

    return keep


def _memoize(walk: Walk) -> None:
    walk.memo[len(walk.memo)] = walk.stack[-1]


ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)")
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\", b"'": b"'", b'"': b'"', b"a": b"\a", b"b": b"\b"}
STOP = ord(".")
INSTRUCTIONS: dict[int, Callable[[Walk], None]] = {
    0x80: _proto,
    0x95: _frame,
    ord("("): _mark,
    ord("0"): _pop,
    ord("1"): _pop_mark,
    ord("2"): _dup,
    ord("N"): _constant(None),
    0x88: _constant(value=True),
    0x89: _constant(value=False),
    ord("I"): _int_line,
    ord("J"): _fixed(4, signed=True),
    ord("K"): _fixed(1),
    ord("M"): _fixed(2),
    ord("L"): _long_line,
    0x8A: _long(1),
    0x8B: _long(4),
    ord("F"): _float_line,
    ord("G"): _float,
    ord("c"): _global,
    0x93: _stack_global,
    ord("S"): _string_line,
    ord("T"): _old_text(4),
    ord("U"): _old_text(1),
    ord("V"): _unicode_line,
    0x8C: _text(1),
    ord("X"): _text(4),
    0x8D: _text(8),
    ord("C"): _bytes(1),
    ord("B"): _bytes(4),
    0x8E: _bytes(8),
    0x96: _bytes(8),  # bytearray
    ord("]"): _empty_list,
    ord(")"): _constant(()),
    ord("}"): _empty_dict,
    0x8F: _empty_set,
    ord("l"): _marked(list),
    ord("t"): _marked(tuple),
    ord("d"): _marked(lambda flat: Pairs(from_pairs(flat))),
    0x91: _marked(lambda items: Members(items, frozen=True)),
    0x85: _tuple_of(1),
    0x86: _tuple_of(2),
    0x87: _tuple_of(3),
    ord("a"): _append,
    ord("e"): _appends,
    0x90: _appends,  # of a set
    ord("s"): _set_item,
    ord("u"): _set_items,
    ord("R"): _reduce,
    0x81: _new_object,
    0x92: _new_object_ex,
    ord("b"): _build,
    ord("i"): _instance,
    ord("o"): _object,
    0x82: _extension(1),
    0x83: _extension(2),
    0x84: _extension(4),
    ord("P"): _persistent_line,
    ord("Q"): _persistent,
    0x97: _next_buffer,
    0x98: _read_only_buffer,
    ord("g"): _get_line,
    ord("h"): _get(1),
    ord("j"): _get(4),
    ord("p"): _put_line,
    ord("q"): _put(1),
    ord("r"): _put(4),
    0x94: _memoize,
}
