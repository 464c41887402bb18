"""Hands out the file of an export: opened once, looked at while it is open, in whole or by one range, in little memory.

A repeat of the job puts another file in its place; who is downloading by then keeps the one that was opened, whole.
"""

from __future__ import annotations

import os
import re
from typing import BinaryIO

import structlog
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from whitenoise.responders import SlicedFile

from exports.files import path_of
from exports.models import Export

CONTENT_TYPE = "text/csv; charset=utf-8"

_RANGE = re.compile(r"bytes=(\d{1,18})?-(\d{1,18})?", re.ASCII)
"""One range. Several at once are not worth their trouble here: the whole file is an answer to any of them."""

log = structlog.get_logger("opsboard.exports")


class FileMissing(Exception):
    """The record says that the export is ready, and the file is not there or is not the recorded one."""


def open_file(export: Export) -> BinaryIO:
    """The file of an export that is ready. Raises FileMissing, with a line in the log."""
    try:
        file = open(path_of(export.pk), "rb", opener=_itself)  # noqa: SIM115  # who answers closes it
    except OSError as error:
        log.error("file of an export can't be opened", export=export.pk, cause=type(error).__name__)
        raise FileMissing from None
    size = os.fstat(file.fileno()).st_size
    if size != export.size:
        file.close()
        log.error("file of an export is not as recorded", export=export.pk, size=size, recorded=export.size)
        raise FileMissing
    return file


def file_response(request: HttpRequest, export: Export, file: BinaryIO) -> HttpResponseBase:
    """The answer that hands the file out, to a GET or HEAD; it closes the file."""
    etag = f'"{export.sha256}"'
    answer: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if answer is None:
        answer = _answer(request, file, export.size or 0, etag)
        answer.headers["Content-Disposition"] = content_disposition_header(True, file_name(export))
    else:
        file.close()
    answer.headers["ETag"] = etag
    answer.headers["Accept-Ranges"] = "bytes"
    return answer


def file_name(export: Export) -> str:
    """What the file is called on its owner's disk. Only what has a period's shape is ever stored: no path is in it."""
    return "-".join(filter(None, ["orders", export.period, export.order_status])) + ".csv"


# ----------------------------------------------------------------------------------------------------------------------


def _itself(path: str, flags: int) -> int:
    """No link is followed, and no pipe waited for: whoever may write to the folder gets nothing else out by it."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


class _Streamed(FileResponse):
    """In pieces that are worth a system call."""

    block_size = 65_536


def _answer(request: HttpRequest, file: BinaryIO, size: int, etag: str) -> HttpResponseBase:
    if request.method == "HEAD":
        file.close()
        return HttpResponse(headers={"Content-Length": str(size)}, content_type=CONTENT_TYPE)
    wanted = _wanted_bytes(request, size, etag)
    if wanted is None:
        return _Streamed(file, content_type=CONTENT_TYPE, headers={"Content-Length": str(size)})
    start, end = wanted
    if start > end:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"}, content_type=CONTENT_TYPE)
    headers = {"Content-Range": f"bytes {start}-{end}/{size}", "Content-Length": str(end - start + 1)}
    return _Streamed(SlicedFile(file, start, end), status=206, content_type=CONTENT_TYPE, headers=headers)


def _wanted_bytes(request: HttpRequest, size: int, etag: str) -> tuple[int, int] | None:
    """The first byte and the last, the last before the first where there are none; None for the whole file.

    A part of another file than this one is of no use to anybody, and what is no range is ignored (RFC 9110, 14.2).
    """
    match = _RANGE.fullmatch(request.headers.get("Range", ""))
    if match is None or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = (int(number) if number else None for number in match.groups())
    if first is None:
        return None if last is None else (max(size - last, 0), size - 1)
    if last is not None and last < first:
        return None
    return first, size - 1 if last is None else min(last, size - 1)
