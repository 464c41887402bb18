"""Logs: JSON lines on stderr (plain ones in debug), without query strings, form values or local variables."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

_QUERY = re.compile(r"\?\S*")

SHARED: list[Any] = [
    # What an operation's attempt has bound (operationId, jobId, attempt …), also on lines that job code logs itself.
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


class WithoutQuery(logging.Filter):
    """Cut what follows a question mark out of Django's own request lines: ids are fine there, search words are not."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_QUERY.sub("?…", arg) if isinstance(arg, str) else arg for arg in record.args)
        return True


class RequestLogMiddleware:
    """One line per request: method, path, status, milliseconds and who asked."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.log = structlog.get_logger("opsboard.request")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        self.log.info(
            "request",
            method=request.method,
            path=request.path,
            status=response.status_code,
            ms=round((time.perf_counter() - began) * 1000, 1),
            user=_who(request),
        )
        return response


def configure_structlog() -> None:
    """Send structlog's own events through the standard handlers, so that there is one stream and one format."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_config(*, debug: bool, level: str) -> dict[str, Any]:
    """Django's LOGGING."""
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"without_query": {"()": WithoutQuery}},
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [remove_meta, *_rendering(debug)],
            }
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["without_query"]},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's defaults add mail and a second console handler; everything goes to root once.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            "gunicorn.error": {"handlers": [], "level": level, "propagate": True},
            # RequestLogMiddleware has said it with the status.
            "django.request": {"handlers": [], "level": "ERROR", "propagate": True},
        },
    }


def _rendering(debug: bool) -> list[Any]:
    """Tracebacks without local variables in both: those hold arguments of jobs, and passwords."""
    if debug:
        return [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _who(request: HttpRequest) -> str | None:
    """The signed-in name, only when the answer needed it anyway: logging must not cost a query."""
    user = getattr(request, "_cached_user", None)
    return user.get_username() or None if user is not None else None
