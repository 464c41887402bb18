"""The file of an export: whole or by one range, of the moment when it was opened, and never another one."""

from __future__ import annotations

import os
from datetime import timedelta
from hashlib import sha256
from threading import Timer

import pytest
from django.utils import timezone

from exports.files import path_of
from exports.models import Export
from tests.exports.laid import CONTENT, lay_export, lay_ready

pytestmark = pytest.mark.django_db

DATA = CONTENT.encode()
SIZE = len(DATA)
ETAG = f'"{sha256(DATA).hexdigest()}"'


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def export(exporter) -> Export:
    return lay_ready(exporter)


@pytest.fixture
def fetch(exporter, sign_in):
    """What its owner gets at the address of a file, read to its end: the answer, and the bytes."""
    browser = sign_in(exporter, watched=False)

    def get(export, method="get", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = getattr(browser, method)(f"/exports/{export.pk}/file/", headers=named)
        return answer, answer.getvalue() if answer.streaming else answer.content

    return get


def test_the_file_comes_whole_with_all_that_a_client_needs_to_know(fetch, export):
    answer, data = fetch(export)
    assert (answer.status_code, data) == (200, DATA)
    assert {name: answer.headers[name] for name in answer.headers} == {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": 'attachment; filename="orders-2025.csv"',
        "Content-Length": str(SIZE),
        "ETag": ETAG,
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-store, private",
        "X-Content-Type-Options": "nosniff",
        **{name: answer.headers[name] for name in _OF_EVERY_PAGE},
    }


_OF_EVERY_PAGE = (
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Permissions-Policy",
    "Referrer-Policy",
    "Vary",
    "X-Frame-Options",
)


def test_head_says_the_same_and_sends_nothing(fetch, export):
    (whole, _data), (head, nothing) = fetch(export), fetch(export, "head")
    assert (head.status_code, nothing) == (200, b"")
    assert dict(head.headers) == dict(whole.headers)


def test_its_name_says_which_orders_are_in_it(fetch, exporter):
    answer, _data = fetch(lay_ready(exporter, period="2025-Q3", order_status="paid"))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="orders-2025-Q3-paid.csv"'


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        ("bytes=0-99", 0, 99),
        ("bytes=0-0", 0, 0),
        ("bytes=1000-", 1000, SIZE - 1),
        ("bytes=-500", SIZE - 500, SIZE - 1),
        (f"bytes={SIZE - 1}-", SIZE - 1, SIZE - 1),
        (f"bytes=10-{SIZE + 10}", 10, SIZE - 1),
        (f"bytes=-{SIZE + 10}", 0, SIZE - 1),
        (f"bytes=0-{SIZE - 1}", 0, SIZE - 1),
    ],
)
def test_a_part_of_it_can_be_asked_for(fetch, export, wanted, start, end):
    answer, data = fetch(export, range=wanted)
    assert (answer.status_code, data) == (206, DATA[start : end + 1])
    assert answer.headers["Content-Range"] == f"bytes {start}-{end}/{SIZE}"
    assert answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Content-Disposition"] == 'attachment; filename="orders-2025.csv"'


@pytest.mark.parametrize("wanted", [f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 5}", "bytes=-0"])
def test_a_part_that_is_not_there_is_refused_with_the_size(fetch, export, wanted):
    answer, data = fetch(export, range=wanted)
    assert (answer.status_code, data) == (416, b"")
    assert answer.headers["Content-Range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize(
    "wanted",
    ["bytes=0-9,20-29", "bytes=-", "bytes=9-0", "bytes=x-9", "rows=0-9", "bytes=0-9 ", "bytes=" + "9" * 40 + "-", "٣-"],
)
def test_several_parts_or_what_is_no_range_at_all_give_the_whole(fetch, export, wanted):
    answer, data = fetch(export, range=wanted)
    assert (answer.status_code, data) == (200, DATA)


def test_head_takes_no_range(fetch, export):
    answer, _nothing = fetch(export, "head", range="bytes=0-99")
    assert (answer.status_code, answer.headers["Content-Length"]) == (200, str(SIZE))


def test_a_download_that_broke_off_goes_on_only_with_the_same_file(fetch, export):
    answer, data = fetch(export, range="bytes=100-", if_range=ETAG)
    assert (answer.status_code, data) == (206, DATA[100:])
    for another in ('"another"', f"W/{ETAG}", "Sat, 14 Mar 2026 15:09:26 GMT"):
        answer, data = fetch(export, range="bytes=100-", if_range=another)
        assert (answer.status_code, data) == (200, DATA), another


@pytest.mark.parametrize("known", [ETAG, f'"another", {ETAG}', f"W/{ETAG}", "*"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_who_has_it_already_gets_nothing_again(fetch, export, known, method):
    answer, data = fetch(export, method, if_none_match=known)
    assert (answer.status_code, data, answer.headers["ETag"]) == (304, b"", ETAG)


def test_who_has_another_one_gets_this_one(fetch, export):
    assert fetch(export, if_none_match='"another"')[1] == DATA
    assert fetch(export, if_match='"another"')[0].status_code == 412


@pytest.mark.parametrize(
    ("status", "answered", "sentence"),
    [
        ("accepted", 409, "Not ready yet. Accepted. It is made as soon as a worker is free; you may close this page."),
        ("queued", 409, "Not ready yet. Accepted. It is made as soon as a worker is free; you may close this page."),
        ("running", 409, "Not ready yet. It is being made; you may close this page."),
        ("failed", 404, "There is no file. There is no month 13: a year has months 01 to 12."),
        ("cancelled", 404, "There is no file. It was cancelled. Ask for it again if you still need it."),
        ("unknown", 404, "There is no file. There is no month 13: a year has months 01 to 12."),
    ],
)
@pytest.mark.parametrize("method", ["get", "head"])
def test_while_it_is_not_ready_there_is_one_sentence_and_no_file(fetch, exporter, status, answered, sentence, method):
    export = lay_export(exporter, status, reason="There is no month 13: a year has months 01 to 12.")
    path_of(export.pk).write_bytes(DATA)  # of an attempt that is not over
    answer, data = fetch(export, method)
    assert (answer.status_code, data.decode()) == (answered, f"{sentence}\n" if method == "get" else "")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "Content-Disposition" not in answer.headers
    program, _data = fetch(export, accept="application/json")
    assert (program.status_code, program.json()) == (answered, {"error": sentence})


@pytest.mark.parametrize("columns", ["expires_at", "removed_at"])
def test_when_its_time_is_over_it_is_gone_even_if_it_still_lies_there(fetch, exporter, columns):
    export = lay_ready(exporter, **{columns: timezone.now() - timedelta(seconds=1)})
    assert path_of(export.pk).exists()
    answer, data = fetch(export)
    assert answer.status_code == 410
    assert data.decode().startswith("This file was kept until 20")
    assert data.decode().endswith("UTC and is no more. Ask for the export again if you need it.\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def _remove(path):
    path.unlink()


def _cut(path):
    os.truncate(path, SIZE - 1)


def _add(path):
    path.write_bytes(DATA + b"x")


def _make_a_folder(path):
    path.unlink()
    path.mkdir()


def _lay_a_link(path):
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("harm", [_remove, _cut, _add, _make_a_folder, _lay_a_link])
def test_a_file_that_is_not_as_it_was_made_is_not_handed_out_but_logged(fetch, export, harm, caplog):
    harm(path_of(export.pk))
    answer, data = fetch(export)
    assert answer.status_code == 404
    assert data.decode() == "The file of this export is not there as it was made. Ask for the export again.\n"
    assert "file of an export" in caplog.text
    assert str(path_of(export.pk)) not in caplog.text


def test_a_pipe_in_its_place_is_not_waited_for(fetch, export):
    path, waited = path_of(export.pk), []
    path.unlink()
    os.mkfifo(path)

    def let_go():
        """Somebody who writes ends the wait of who reads."""
        waited.append(True)
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

    patience = Timer(20, let_go)
    patience.start()
    answer, _data = fetch(export)
    patience.cancel()
    assert (answer.status_code, waited) == (404, [])


def test_what_is_being_downloaded_stays_whole_when_another_file_takes_its_place(exporter, sign_in, export):
    answer = sign_in(exporter, watched=False).get(f"/exports/{export.pk}/file/")
    pieces = iter(answer.streaming_content)
    first = next(pieces)
    another = path_of(export.pk).with_suffix(".new")
    another.write_bytes(b"another")
    os.replace(another, path_of(export.pk))
    assert len(first) < SIZE
    assert first + b"".join(pieces) == DATA


@pytest.mark.parametrize("headers", [{}, {"range": "bytes=0-999"}, {"if-none-match": ETAG}, {"range": "bytes=-0"}])
@pytest.mark.parametrize("method", ["get", "head"])
def test_every_file_that_is_opened_is_closed(exporter, sign_in, export, headers, method, monkeypatch):
    opened = []
    monkeypatch.setattr("exports.views.open_file", lambda one: opened.append(path_of(one.pk).open("rb")) or opened[-1])
    answer = getattr(sign_in(exporter, watched=False), method)(f"/exports/{export.pk}/file/", headers=headers)
    b"".join(answer)
    assert [one.closed for one in opened] == [True]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_the_file_can_only_be_read(exporter, sign_in, export, method):
    assert getattr(sign_in(exporter, watched=False), method)(f"/exports/{export.pk}/file/").status_code == 405
    assert path_of(export.pk).read_bytes() == DATA
