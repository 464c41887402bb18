"""Unpacking what RQ compressed, within bounds and in spite of damage."""

from __future__ import annotations

import codecs
import string
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.domain.excerpts import Excerpt

STEP = 256 * 1024
NOT_BASE64 = bytes(set(range(256)) - set(string.ascii_letters.encode() + string.digits.encode() + b"+/"))
MAX_TOTAL = 64 * 1024 * 1024
"""Bytes of a text that are streamed through to learn its size and its end; what lies behind is not looked at."""


@dataclass(frozen=True)
class Inflated:
    """The start of an unpacked value."""

    data: bytes
    total: int | None
    """Bytes in all; None when the end was not reached."""
    complete: bool
    damaged: bool = False
    """The packed bytes are broken or cut off; ``data`` holds what came out before."""


def inflate(data: bytes, *, max_bytes: int) -> Inflated:
    """Unpack at most ``max_bytes`` bytes of a zlib stream; never raises and never holds much more than that."""
    pieces: list[bytes] = []
    left = max_bytes + 1  # one more than asked for tells "exactly as much" from "cut"
    damaged = False
    try:
        for piece in _stream(data):
            pieces.append(piece[:left])
            left -= len(pieces[-1])
            if left <= 0:
                break
    except zlib.error:
        damaged = True
    whole = b"".join(pieces)
    if len(whole) > max_bytes:
        return Inflated(whole[:max_bytes], None, complete=False)
    return Inflated(whole, None if damaged else len(whole), complete=not damaged, damaged=damaged)


def read_exc_string(value: bytes | str | None, *, max_bytes: int) -> Excerpt:
    """The traceback of an RQ result (``exc_string`` = base64 of zlib of UTF-8), or of a job's old ``exc_info`` (zlib).

    A text above ``max_bytes`` is streamed through: its head and its tail are kept (half of ``max_bytes`` each, counted
    in characters), and its true size is counted up to 64 MB. Bytes that are no UTF-8 are replaced, and whatever is
    broken gives what could be read, marked as damaged. Never raises.
    """
    packed = _unbase64(value.encode("utf-8", "replace") if isinstance(value, str) else value or b"")
    keeper = _HeadAndTail(max_bytes)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    seen, damaged = 0, False
    try:
        for piece in _stream(packed) if value else ():
            keeper.add(decode(piece))
            seen += len(piece)
            if seen > MAX_TOTAL:
                break
    except zlib.error:
        damaged = True
    keeper.add(decode(b"", final=True))
    return keeper.excerpt(damaged=damaged, counted_out=seen <= MAX_TOTAL)


def _stream(data: bytes) -> Iterator[bytes]:
    """The unpacked bytes in steps; raises zlib.error where the stream is broken, also when it just stops."""
    unpacker = zlib.decompressobj()
    piece = unpacker.decompress(data, STEP)
    while piece:
        yield piece
        piece = unpacker.decompress(unpacker.unconsumed_tail, STEP)
    if not unpacker.eof:
        raise zlib.error("cut off")


def _unbase64(value: bytes) -> bytes:
    if value[:1] == b"\x78" and value[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
        return value  # a bare zlib header, as old jobs have in exc_info; its second byte is never base64
    clean = value.translate(None, delete=NOT_BASE64)
    whole = len(clean) - (len(clean) % 4 == 1)  # one left-over character carries no byte
    return b64decode(clean[:whole] + b"=" * (-whole % 4))


class _HeadAndTail:
    """Takes a text piece by piece and keeps only its two ends once it has grown too long."""

    def __init__(self, keep: int) -> None:
        self.keep, self.half = keep, max(1, keep // 2)
        self.total, self.waiting = 0, 0
        self.head: str | None = None
        self.pieces: list[str] = []

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.total += len(piece)
        self.waiting += len(piece)
        if self.waiting > (self.keep if self.head is None else self.keep + STEP):
            self._cut()

    def _cut(self) -> None:
        text = "".join(self.pieces)
        if self.head is None:
            self.head = text[: self.half]
        tail = text[-self.half :]
        self.pieces, self.waiting = [tail], len(tail)

    def excerpt(self, *, damaged: bool, counted_out: bool) -> Excerpt:
        rest = "".join(self.pieces)
        if self.head is None:
            return Excerpt(rest, total_characters=self.total, damaged=damaged)
        return Excerpt(
            self.head,
            tail=rest[-self.half :],
            total_characters=self.total,
            is_total_exact=counted_out,
            damaged=damaged,
        )
