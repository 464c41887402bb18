"""The oracle as a process: `python -m tests.oracle.service --port 8099 --book effects.jsonl`.

    POST /act/<mode>/<business key>   mode keyed (header Idempotency-Key), checkable or blind; any body
    GET  /ask/<business key>          {"found": …, "id": …}: the truth as of the settle lag ago
    POST /arm/<business key>          {"fault": …, "verb": "act" | "ask", "nth": …, "seconds": …, "status": …}
    POST /rules/<business key>        {"forget_after": seconds, "settles_in": seconds}
    GET  /book/effects/<business key> · /book/counts · /book/calls · /book/calls/<business key>

Business keys are quoted. A fault of the way back (a dropped answer, an error after acting) is not remembered with the
key: a repeat gets the answer that the first call should have got, as from a service behind a gateway that failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.oracle.book import Armed, Book, Call, Fault, Rules

MODES = ("keyed", "checkable", "blind")
_LOST = (Fault.DROP_ANSWER, Fault.HANG)


@dataclass(frozen=True)
class Reply:
    """What is sent back; a `status` of None: nothing, the connection is closed."""

    status: int | None
    content: Any = None
    retry_after: float | None = None


NOTHING = Reply(None)


class Oracle:
    """What the service does, without the HTTP around it."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.stopping = threading.Event()

    def act(self, mode: str, business_key: str, idempotency_key: str, body: bytes) -> Reply:
        """One request that is to have an effect."""
        if mode not in MODES or (mode == "keyed") != bool(idempotency_key):
            return Reply(400, {"error": "a mode of keyed, checkable, blind; an Idempotency-Key with keyed alone"})
        call, armed = self.book.open_call("act", mode, business_key, idempotency_key)
        reply = self._fail_before(armed) or self._answer(call, armed, body)
        return self._finish(call, armed, reply)

    def ask(self, business_key: str) -> Reply:
        """Whether an effect is known; an effect shows only once it has settled."""
        call, armed = self.book.open_call("ask", "", business_key)
        if (reply := self._fail_before(armed)) is None:
            self._wait_if_slow(armed)
            effect = self.book.visible_effect(business_key)
            reply = Reply(200, {"found": effect is not None, "id": effect.id if effect else ""})
        return self._finish(call, armed, reply)

    def arm(self, business_key: str, wanted: dict[str, Any]) -> Reply:
        """Let a fault wait for a call."""
        self.book.arm(business_key, Armed(fault=Fault(wanted.pop("fault")), **wanted))
        return Reply(200, {})

    def change_rules(self, business_key: str, changed: dict[str, float]) -> Reply:
        """How long keys are remembered and effects take to show, for one business key."""
        self.book.change_rules(business_key, changed)
        return Reply(200, {})

    def read(self, page: str, business_key: str) -> Reply:
        """A page of the book."""
        if page == "counts":
            return Reply(200, self.book.counts())
        if page == "effects":
            return Reply(200, [asdict(effect) for effect in self.book.effects_of(business_key)])
        return Reply(200, [asdict(call) for call in self.book.calls_of(business_key or None)])

    # ------------------------------------------------------------------------------------------------------------------

    def _fail_before(self, armed: Armed | None) -> Reply | None:
        if armed and armed.fault is Fault.DROP_REQUEST:
            return NOTHING
        if armed and armed.fault is Fault.TOO_MANY:
            return Reply(429, {"error": "armed"}, armed.seconds)
        if armed and armed.fault is Fault.ERROR_BEFORE:
            return Reply(armed.status, {"error": "armed"})
        return None

    def _answer(self, call: Call, armed: Armed | None, body: bytes) -> Reply:
        fingerprint = hashlib.sha256(call.business_key.encode() + b"\0" + body).hexdigest()
        if call.mode == "keyed" and (known := self.book.claim_key(call, fingerprint)):
            return _repeat(known.fingerprint == fingerprint, known.effect)
        self._wait_if_slow(armed)
        return Reply(201, {"id": self.book.add_effect(call, fingerprint), "repeated": False})

    def _finish(self, call: Call, armed: Armed | None, reply: Reply) -> Reply:
        done = reply.content.get("id", "") if reply.content else ""
        if armed and armed.fault is Fault.ERROR_AFTER:
            reply = Reply(armed.status, {"error": "armed"})
        lost = armed is not None and armed.fault in _LOST
        self.book.close_call(call, None if lost else reply.status, done)
        if armed and armed.fault is Fault.HANG:
            self.stopping.wait(armed.seconds)
        return NOTHING if lost else reply

    def _wait_if_slow(self, armed: Armed | None) -> None:
        if armed and armed.fault is Fault.SLOW:
            self.stopping.wait(armed.seconds)


def _repeat(same: bool, effect: str | None) -> Reply:
    if not same:
        return Reply(422, {"error": "the key belongs to another request"})
    if effect is None:
        return Reply(409, {"error": "the key is in progress"})
    return Reply(200, {"id": effect, "repeated": True})


# HTTP -----------------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """Takes requests apart and puts replies together."""

    protocol_version = "HTTP/1.1"
    # One packet per answer: head and body apart would wait for each other in the kernel.
    wbufsize = -1
    disable_nagle_algorithm = True
    oracle: Oracle

    def do_GET(self) -> None:
        """A question, or a page of the book."""
        _, verb, *rest = self.path.split("/")
        names = [unquote(part) for part in rest]
        routes: dict[str, Callable[[], Reply]] = {
            "ask": lambda: self.oracle.ask(names[0]),
            "book": lambda: self.oracle.read(names[0], names[1] if names[1:] else ""),
        }
        self._reply(_answer_of(routes.get(verb, _not_found)))

    def do_POST(self) -> None:
        """An act, or a word to the service itself."""
        _, verb, *rest = self.path.split("/")
        names = [unquote(part) for part in rest]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key = self.headers.get("Idempotency-Key", "")
        routes: dict[str, Callable[[], Reply]] = {
            "act": lambda: self.oracle.act(names[0], names[1], key, body),
            "arm": lambda: self.oracle.arm(names[0], json.loads(body)),
            "rules": lambda: self.oracle.change_rules(names[0], json.loads(body)),
        }
        self._reply(_answer_of(routes.get(verb, _not_found)))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """The book is the log."""

    def _reply(self, reply: Reply) -> None:
        if reply.status is None:
            self.close_connection = True
            return
        body = json.dumps(reply.content).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if reply.retry_after is not None:
            self.send_header("Retry-After", f"{reply.retry_after:g}")
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Serves until it is told to end; who has gone by then is not waited for."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers are killed on purpose: only what is a fault of the service itself is worth a traceback."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _answer_of(route: Callable[[], Reply]) -> Reply:
    """A request that makes no sense is a mistake in a test: it is answered, so as not to look like a fault."""
    try:
        return route()
    except (LookupError, TypeError, ValueError) as error:
        return Reply(400, {"error": repr(error)})


def _not_found() -> Reply:
    return Reply(404, {"error": "no such page"})


def main(arguments: list[str]) -> None:
    """Open the book and serve it on the loopback until SIGTERM."""
    told = _parser().parse_args(arguments)
    rules = Rules(forget_after=told.forget_after, settles_in=told.settles_in)
    handler = type("BoundHandler", (Handler,), {"oracle": Oracle(Book(told.book, rules))})
    server = Server(("127.0.0.1", told.port), handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(poll_interval=0.1)
    server.socket.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.oracle.service")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--forget-after", type=float, default=86_400.0, help="seconds")
    parser.add_argument("--settles-in", type=float, default=0.0, help="seconds")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
