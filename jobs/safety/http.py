"""Says in our words how an HTTP call failed: requests, httpx, and the standard library; none of them is imported.

The question is never what went wrong, but what is known of the effect (protocol, C11). A class of error alone seldom
proves that nothing was sent: requests gives one to a refused connection and to a reset after the request, urllib3 calls
a broken answer through a proxy a proxy error, and a redirect or a library's own retry may have sent something before.
So "never sent" is believed only of an error whose traceback shows that it was raised while connecting, with no earlier
request behind it. Whatever can't be proved is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import FrameType
from typing import Any, overload
from urllib.parse import urlsplit

from jobs.safety.classifying import ancestry, frames, is_settled, is_within, translating
from jobs.safety.errors import NotPerformed, OutcomeUnknown, PermanentError, TransientError

_CONNECTING = (("connect", "urllib3/connection.py"), ("connect", "http/client.py"))
"""Calls that only open a connection: name resolution, TCP, a proxy's tunnel, TLS."""
_NEVER_SENT = {
    ("httpx", "ConnectError"),
    ("httpx", "ConnectTimeout"),
    ("httpx", "PoolTimeout"),
    ("httpx", "ProxyError"),
    ("urllib3", "EmptyPoolError"),
}
_MALFORMED = {
    ("requests", "MissingSchema"),
    ("requests", "InvalidSchema"),
    ("requests", "InvalidURL"),
    ("requests", "InvalidHeader"),
    ("httpx", "UnsupportedProtocol"),
    ("httpx", "InvalidURL"),
}
"""Found wrong on this side, before there was anything to send."""
_LIBRARIES = {"requests", "urllib3", "urllib", "http", "httpx"}
_TURNED_AWAY = {HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_REFUSED = {status for status in HTTPStatus if 400 <= status < 500} - {*_TURNED_AWAY, 408, 409}
"""Unregistered ones are left out: nobody knows what they mean."""
_SOMEBODY = "the other side"
_LONGEST_WAIT_SECONDS = 365 * 86_400.0
"""More than anybody means; a due time beyond the calendar can't be stored."""


@overload
def classify_http() -> AbstractContextManager[None]: ...
@overload
def classify_http(outcome: Exception) -> Exception: ...
@overload
def classify_http(outcome: Any) -> Exception | None: ...
def classify_http(outcome: Any = None) -> AbstractContextManager[None] | Exception | None:
    """Turn a library's error, or an answer, into the error that says what is known of the effect (protocol, C11).

        with classify_http():
            response = client.post(url, json=order)
            response.raise_for_status()

    One call a block, and do call `raise_for_status`: an answer that nobody looks at counts as success here.
    As a function it takes the error or the response, and returns the error to raise; None for an answer of 2xx.

    | what happened | becomes |
    |---|---|
    | no connection: name, refusal, TLS, time-out of connecting or of the pool | NotPerformed |
    | 425, 429 | NotPerformed, with Retry-After |
    | 409 (the key is in use), 503 with Retry-After | TransientError: says nothing of the effect |
    | any other registered 4xx but 408, and a URL or header that can't be sent | PermanentError |
    | 408, any other 5xx, a redirect not followed, no answer or a broken one, and all else | OutcomeUnknown |

    After a redirect that was followed, or a try that the library repeated by itself, an answer or a failure speaks of
    the last request alone, and the outcome is unknown.
    """
    if outcome is None:
        return translating(_of_error)
    return _of_error(outcome) if isinstance(outcome, Exception) else _of_response(outcome)


# Errors ---------------------------------------------------------------------------------------------------------------


def _of_error(error: Exception) -> Exception:
    if is_settled(error):
        return error
    host, name = _host_of(_request_of(error)), type(error).__name__
    unknown = OutcomeUnknown(f"Nobody knows what became of the request to {host}: {name}.")
    if _had_earlier_request(error):
        return unknown
    if (response := _response_of(error)) is not None:
        return _of_response(response) or unknown
    if ancestry(error) & _MALFORMED:
        return PermanentError(f"The request to {host} can't be sent as it is: {name}.")
    if _was_never_sent(error):
        return NotPerformed(f"There was no connection to {host}: {name}.")
    return unknown


def _was_never_sent(error: BaseException) -> bool:
    # An error that was not raised has no traceback, and then nothing shows what went before it.
    return any(
        (part.__traceback__ and ancestry(part) & _NEVER_SENT) or any(_is_connecting(frame) for frame in frames(part))
        for part in _parts(error)
    )


def _is_connecting(frame: FrameType) -> bool:
    return any(is_within(frame, function, file) for function, file in _CONNECTING)


def _had_earlier_request(error: Exception) -> bool:
    return any(_shows_earlier_request(frame) for part in _parts(error) for frame in frames(part))


def _shows_earlier_request(frame: FrameType) -> bool:
    match frame.f_code.co_name:
        case "resolve_redirects" | "http_error_302":
            return True
        case "_send_handling_redirects":
            return _is_redirected(frame.f_locals.get("history"))
        case "urlopen":
            return _is_retried(frame.f_locals.get("retries"))
    return False


def _is_redirected(history: Any) -> bool:
    """Whether a response or call of requests or httpx came after a redirect; a repeat with credentials is none."""
    return any(300 <= response.status_code < 400 for response in history or ())


def _is_retried(retries: Any) -> bool:
    """Whether urllib3 has repeated a request that may have been carried out."""
    return any(
        one.status not in _TURNED_AWAY if one.error is None else not _was_never_sent(one.error)
        for one in getattr(retries, "history", ())
    )


def _parts(error: BaseException) -> Iterator[BaseException]:
    """An error with what the library wrapped in it. Not `__context__`: that may be of another call."""
    yield error
    if not {package for package, _name in ancestry(error)} & _LIBRARIES:
        return
    wrapped = (*error.args, getattr(error, "reason", None), getattr(error, "original_error", None), error.__cause__)
    for inner in wrapped:
        if isinstance(inner, BaseException) and inner is not error:
            yield from _parts(inner)


# Answers --------------------------------------------------------------------------------------------------------------


def _response_of(error: Exception) -> Any:
    """The answer that an error was raised for; the one of urllib is the answer itself."""
    if ("urllib", "HTTPError") in ancestry(error):
        return error
    response = getattr(error, "response", None)
    # Never its truth value: an answer of requests is false when it is an error.
    return response if isinstance(getattr(response, "status_code", None), int) else None


def _of_response(response: Any) -> Exception | None:
    status = int(response.status_code if hasattr(response, "status_code") else response.code)
    if 200 <= status < 300:
        return None
    said, wait = f"{_host_of(response)} answered {status}.", _retry_after(response.headers)
    if _speaks_of_the_last(response):
        return OutcomeUnknown(f"{said} An earlier request may have been carried out.")
    if status in _TURNED_AWAY:
        return NotPerformed(said, retry_after=wait)
    if status == HTTPStatus.CONFLICT or (status == HTTPStatus.SERVICE_UNAVAILABLE and wait is not None):
        return TransientError(said, retry_after=wait)
    return PermanentError(said) if status in _REFUSED else OutcomeUnknown(said)


def _speaks_of_the_last(response: Any) -> bool:
    """Whether other requests went before the one that this answers."""
    if _is_redirected(getattr(response, "history", None)):
        return True
    return _is_retried(getattr(getattr(response, "raw", None), "retries", None))


def _retry_after(headers: Any) -> timedelta | None:
    """How long to wait by the header Retry-After, seconds or a date (RFC 9110, 10.2.3); None: it does not say."""
    said = headers.get("Retry-After") or ""
    try:
        seconds = float(said)
    except ValueError:
        until, now = _moment(said), _moment(headers.get("Date")) or datetime.now(UTC)
        seconds = max(0.0, (until - now).total_seconds()) if until else -1.0
    # NaN is no wait either.
    return timedelta(seconds=min(seconds, _LONGEST_WAIT_SECONDS)) if seconds >= 0 else None


def _moment(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Words ----------------------------------------------------------------------------------------------------------------


def _request_of(error: Exception) -> Any:
    try:
        return getattr(error, "request", None)
    except RuntimeError:
        # What httpx raises where others have None.
        return None


def _host_of(called: Any) -> str:
    """The name of the other side, and nothing else of the address: the rest may hold what is nobody's business."""
    try:
        return urlsplit(str(getattr(called, "url", ""))).hostname or _SOMEBODY
    except (RuntimeError, ValueError):
        return _SOMEBODY
