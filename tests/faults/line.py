"""A line between opsboard and its store that fails when a script passes over it, as a test wants it to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

SCRIPT = b"\r\nEVAL\r\n"
Filter = Callable[[bytes], bytes]


class Cut(Exception):
    """The line is cut at this moment, with what was on it."""


@dataclass
class Line:
    """Forwards bytes unchanged, but for a script and its answer: `on_script` and `on_answer` see those first.

    Each gets the bytes and returns what is to be forwarded; raising Cut, it ends that connection.
    """

    to: int
    on_script: Filter = bytes
    on_answer: Filter = bytes
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def open(self) -> None:
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _address = self._listener.accept()
                _Wire(self, near, socket.create_connection(("127.0.0.1", self.to), 10)).start()


class _Wire:
    """One connection, forwarded in both directions until either end, or the line, is done with it."""

    def __init__(self, line: Line, near: socket.socket, far: socket.socket) -> None:
        self._line, self._near, self._far = line, near, far
        self._script_is_on_its_way = False

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with self._near, self._far:
            back = threading.Thread(target=self._pump, args=(self._far, self._near, self._answered), daemon=True)
            back.start()
            self._pump(self._near, self._far, self._asked)
            back.join()

    def _asked(self, chunk: bytes) -> bytes:
        if SCRIPT not in chunk:
            return chunk
        self._script_is_on_its_way = True
        return self._line.on_script(chunk)

    def _answered(self, chunk: bytes) -> bytes:
        return self._line.on_answer(chunk) if self._script_is_on_its_way else chunk

    def _pump(self, source: socket.socket, target: socket.socket, see: Filter) -> None:
        with suppress(OSError, Cut):
            while chunk := source.recv(65536):
                target.sendall(see(chunk))
        for end in (self._near, self._far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
