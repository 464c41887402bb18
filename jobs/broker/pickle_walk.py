"""Where the reading of a pickle stands: position, stack and memory, holding symbols only."""

from __future__ import annotations

from typing import Any

from jobs.broker.symbols import Damaged, EndOfData


class Walk:
    """Where the reading stands. After an exception, ``frames`` tells what had been read."""

    __slots__ = ("data", "frames", "memo", "position", "stack")

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0
        self.stack: list[Any] = []
        self.frames: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0:
            raise Damaged("negative size")
        if end > len(self.data):
            raise EndOfData
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise EndOfData
        piece = self.data[self.position : end]
        self.position = end + 1
        return piece

    def to_mark(self) -> list[Any]:
        """The items above the last mark; the stack below it becomes the stack again."""
        items = self.stack
        self.stack = self.frames.pop()
        return items

    def open_frames(self) -> list[list[Any]]:
        """The stack cut at its marks, outermost first."""
        return [*self.frames, self.stack]
