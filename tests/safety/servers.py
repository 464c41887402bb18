"""Servers on the loopback that behave as told, badly above all."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

Talk = Callable[[socket.socket], None]
"""What a server does with one connection; it is closed afterwards."""


@contextmanager
def serving(*talks: Talk) -> Iterator[int]:
    """Serve on a free port, which is yielded: a talk for each connection in order, the last for all that follow."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        thread = threading.Thread(target=_serve, args=(listener, talks), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def full_server() -> Iterator[int]:
    """A port whose queue of connections is full: the next one gets no answer at all."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield address[1]


@contextmanager
def dying_server() -> Iterator[int]:
    """Takes one request and goes away without an answer; who calls again is refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_take_one, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def answer(status: int, *, cut: bool = False, **headers: str) -> Talk:
    """Answer one request; `cut`: break off within the body."""
    lines = {"Content-Length": "2", "Connection": "close", "Location": "/", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())

    def talk(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(f"HTTP/1.1 {status} As Told\r\n{head}\r\n{'' if cut else 'ok'}".encode())

    return talk


def read_request(connection: socket.socket) -> None:
    """Receive one HTTP request with its body."""
    head = b""
    while b"\r\n\r\n" not in head:
        if not (received := connection.recv(65536)):
            return
        head += received
    head, _, body = head.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)


def be_silent(connection: socket.socket) -> None:
    """Take all that comes until the caller has had enough."""
    while connection.recv(65536):
        pass


def reset(connection: socket.socket) -> None:
    """End a connection with RST, not with FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _serve(listener: socket.socket, talks: tuple[Talk, ...]) -> None:
    number = 0
    with suppress(OSError):
        while True:
            connection, _address = listener.accept()
            talk = talks[min(number, len(talks) - 1)]
            number += 1
            threading.Thread(target=_talk, args=(talk, connection), daemon=True).start()


def _talk(talk: Talk, connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.settimeout(10)
        talk(connection)


def _take_one(listener: socket.socket) -> None:
    connection, _address = listener.accept()
    listener.close()
    with connection:
        connection.settimeout(10)
        read_request(connection)
