"""Speaks to the oracle, from job code in workers and from tests. The standard library alone, one connection a call.

Errors of the way (refused, reset, timed out, no answer) are those of `http.client` and `socket`, as they come.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import quote, urlsplit

TIMEOUT = 5.0


@dataclass(frozen=True)
class Acted:
    """What an act was answered with. `repeated`: the service knew the key, and did nothing this time."""

    id: str
    repeated: bool = False


@dataclass(frozen=True)
class Response:
    """An answer that is an error, with the names that HTTP libraries use."""

    status_code: int
    headers: HTTPMessage
    text: str


class AnsweredWithError(Exception):
    """The service answered, with an error."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"answered {response.status_code}")
        self.response = response


def act(
    url: str,
    business_key: str,
    *,
    mode: str,
    key: str | None = None,
    body: bytes | str | dict[str, Any] | None = None,
    timeout: float = TIMEOUT,
) -> Acted:
    """Have an effect. `mode`: keyed (with `key`), checkable or blind; `timeout` in seconds.

    Raises AnsweredWithError, OSError, HTTPException.
    """
    headers = {"Idempotency-Key": key} if key else {}
    return Acted(**_call(url, "POST", f"/act/{mode}/{_quoted(business_key)}", body, headers, timeout))


def ask(url: str, business_key: str, *, timeout: float = TIMEOUT) -> str | None:
    """The id of the effect that the service knows of; None: it knows of none. Raises like `act`."""
    answer = _call(url, "GET", f"/ask/{_quoted(business_key)}", timeout=timeout)
    return answer["id"] if answer["found"] else None


def effects(url: str, business_key: str) -> list[dict[str, Any]]:
    """What really happened, in order: id, at, business_key, mode, idempotency_key, fingerprint, call."""
    return _call(url, "GET", f"/book/effects/{_quoted(business_key)}")


def counts(url: str) -> dict[str, int]:
    """How often each business key had an effect."""
    return _call(url, "GET", "/book/counts")


def repeated(url: str) -> dict[str, int]:
    """The business keys that had more than one effect: what must never be."""
    return {key: count for key, count in counts(url).items() if count > 1}


def calls(url: str, business_key: str = "") -> list[dict[str, Any]]:
    """The requests in order, of one business key or all: number, at, verb, mode, nth, fault, status, effect …"""
    return _call(url, "GET", f"/book/calls/{_quoted(business_key)}")


def arm(url: str, business_key: str, fault: str, *, nth: int = 1, verb: str = "act", **how: float) -> None:
    """Let the nth call (from 1, since the beginning; 0: every one) of `verb` meet a fault.

    `fault`: a name of `tests.oracle.book.Fault`; `how`: its `seconds` or `status`. What was armed last counts.
    """
    _call(url, "POST", f"/arm/{_quoted(business_key)}", {"fault": fault, "nth": nth, "verb": verb, **how})


def change_rules(url: str, business_key: str, **seconds: float) -> None:
    """Set `forget_after` and `settles_in`. `forget_after=0` is a service that has just forgotten the key."""
    _call(url, "POST", f"/rules/{_quoted(business_key)}", seconds)


def _call(
    url: str,
    method: str,
    path: str,
    body: bytes | str | dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    if response.status >= 400:
        raise AnsweredWithError(Response(response.status, response.headers, text))
    return json.loads(text)


def _quoted(business_key: str) -> str:
    return quote(business_key, safe="")
