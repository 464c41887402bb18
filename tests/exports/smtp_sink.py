"""A mail server on the loopback that really speaks SMTP, keeps what it took, and behaves as badly as it is told."""

from __future__ import annotations

import email
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from typing import BinaryIO

from tests.safety.servers import be_silent, reset, serving

DEEDS = ("close", "reset", "silent", "half")
"""What it can do instead of an answer; `half`: break off within it."""
GO_ON = "354 go on"
USUAL = {"GREETING": "220 here", "DATA": GO_ON, "QUIT": "221 bye", "AUTH": "235 yes", "STARTTLS": "220 go ahead"}

Said = str | Callable[[], str]


@dataclass(frozen=True)
class Taken:
    """A mail that the server has got to its end, and has not refused: it delivers it, whatever the sender was told."""

    sender: str
    to: str
    content: bytes

    @property
    def message(self) -> EmailMessage:
        return email.message_from_bytes(self.content, policy=default)


@dataclass
class Sink:
    """`told`: what it says, or does, at a place of the conversation. `tls`: what it encrypts by, once it is asked to.

    `halts`: by recipient, the place at which it leaves him waiting, with an event for who wants to know that he waits.
    """

    told: dict[str, Said] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    mails: list[Taken] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    halts: dict[tuple[str, str], threading.Event] = field(default_factory=dict)
    port: int = 0

    def taken_for(self, recipient: str) -> int:
        """How many mails somebody has got."""
        return sum(mail.to == recipient for mail in self.mails)

    def halt(self, recipient: str, place: str) -> threading.Event:
        """Leave him waiting at this place, once; the event is set when he does."""
        return self.halts.setdefault((recipient, place), threading.Event())

    def talk(self, connection: socket.socket) -> None:
        """One conversation."""
        _Conversation(self, connection).go_on()


@contextmanager
def smtp_sink(told: dict[str, Said] | None = None, *, tls: ssl.SSLContext | None = None) -> Iterator[Sink]:
    """A server on a free port."""
    sink = Sink(told or {}, tls)
    with serving(sink.talk) as port:
        sink.port = port
        yield sink


# ----------------------------------------------------------------------------------------------------------------------


class _Conversation:
    """Whom it is with, and about what mail."""

    def __init__(self, sink: Sink, connection: socket.socket) -> None:
        self._sink, self._connection = sink, connection
        self._lines: BinaryIO = connection.makefile("rb")
        self._sender = self._recipient = ""

    def go_on(self) -> None:
        place = "GREETING"
        try:
            while place and self._answer(place):
                place = self._next()
        finally:
            self._connection.close()

    def _next(self) -> str:
        """The verb of the next command; '' once there is none."""
        line = self._lines.readline().decode()
        verb = line.upper().partition(" ")[0].strip()
        self._sink.heard.append(verb)
        address = re.search(r"<([^>]*)>", line)
        if verb == "MAIL" and address:
            self._sender = address[1]
        if verb == "RCPT" and address:
            self._recipient = address[1]
        return verb

    def _answer(self, place: str) -> bool:
        """Say it, or do it; whether the conversation goes on."""
        told = self._sink.told.get(place, self._usual(place))
        said = told() if callable(told) else told
        if place == "MESSAGE" and not self._take(said):
            return False
        if halted := self._sink.halts.pop((self._recipient, place), None):
            halted.set()
            be_silent(self._connection)
            return False
        if said in DEEDS:
            return self._do(said)
        self._connection.sendall(said.encode() + b"\r\n")
        if place == "DATA" and said == GO_ON:
            return self._answer("MESSAGE")
        if place == "STARTTLS" and said.startswith("220"):
            self._encrypt()
        return place != "QUIT"

    def _usual(self, place: str) -> str:
        if place == "EHLO":
            can = ["STARTTLS"] if self._sink.tls and not isinstance(self._connection, ssl.SSLSocket) else ["AUTH PLAIN"]
            return "\r\n".join(["250-here", *(f"250-{one}" for one in can), "250 8BITMIME"])
        return USUAL.get(place, "250 fine")

    def _take(self, said: str) -> bool:
        """Take what comes after DATA, unless it is to be refused; whether it came to its end."""
        content = self._content()
        if content is not None and not said.startswith(("4", "5")):
            self._sink.mails.append(Taken(self._sender, self._recipient, content))
        return content is not None

    def _content(self) -> bytes | None:
        """The mail; None when it ends before its end."""
        lines = []
        while (line := self._lines.readline()) != b".\r\n":
            if not line:
                return None
            lines.append(line)
        return b"".join(lines)

    def _do(self, deed: str) -> bool:
        if deed == "reset":
            reset(self._connection)
        elif deed == "silent":
            be_silent(self._connection)
        elif deed == "half":
            self._connection.sendall(b"250-fi")
        return False

    def _encrypt(self) -> None:
        assert self._sink.tls is not None
        self._connection = self._sink.tls.wrap_socket(self._connection, server_side=True)
        self._lines = self._connection.makefile("rb")
