"""P17: half an export. Whoever looks while the file is written, or downloads while it is made again."""

from __future__ import annotations

import csv
import io
from datetime import UTC
from functools import partial
from hashlib import sha256

import pytest
from django.utils import timezone

from exports import writing
from exports.files import path_of
from exports.models import Export, Order
from exports.periods import read_period
from exports.requesting import request_export
from jobs.safety import result_file
from tests.exports.conftest import make_orders, queues, run_jobs
from tests.exports.shop import a_person
from tests.safety.dying import Attempt

__all__ = ["make_orders", "queues", "run_jobs"]

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 5500


@pytest.fixture
def owner(db):
    return a_person("clara")


@pytest.fixture
def browser(owner, sign_in):
    return sign_in(owner, watched=False)


def facts(browser, export) -> dict[str, object]:
    found: dict[str, object] = browser.get(f"/exports/{export.pk}/", headers={"accept": "application/json"}).json()
    return found


def test_p17_until_it_is_ready_nobody_gets_a_byte_and_nothing_has_its_name(
    browser, owner, make_orders, run_jobs, monkeypatch
):
    """Looked at between any two stages, and once more when all rows are written and the file has no name yet."""
    make_orders(ROWS)
    export = request_export(owner, "2025", "").export
    seen, look_up = [], writing._look_up

    def look() -> None:
        now = facts(browser, export)
        answers = [getattr(browser, method)(f"/exports/{export.pk}/file/") for method in ("get", "head")]
        assert [one.status_code for one in answers] == [409, 409]
        assert not path_of(export.pk).exists()
        seen.append((now["status"], now["progress"], now["file"]))

    def look_between(done: int, total: int) -> None:
        look_up(done, total)
        look()

    monkeypatch.setattr(writing, "_look_up", look_between)
    look()
    run_jobs()
    # How far it is goes on record now and then only; nobody is ever told of more than there is.
    assert seen[0] == ("accepted", None, None)
    assert [(status, file) for status, _far, file in seen[1:]] == [("running", None)] * 6
    far = [(done["done"], done["total"]) for _status, done, _file in seen[1:]]
    assert all(total == ROWS for _done, total in far)
    assert all(done <= 1000 * stage for stage, (done, _total) in enumerate(far, start=1))

    now, answer = facts(browser, export), browser.get(f"/exports/{export.pk}/file/")
    data = answer.getvalue()
    assert (now["status"], now["rows"], now["size"]) == ("ready", ROWS, len(data))
    assert answer.headers["Content-Length"] == str(len(data))
    assert now["sha256"] == sha256(data).hexdigest()
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert [row["number"] for row in rows] == list(Order.objects.order_by("placed_at").values_list("number", flat=True))


@pytest.mark.parametrize("wanted", [None, "bytes=100-"])
def test_p17_a_download_that_goes_on_while_the_file_is_made_again_ends_with_the_old_one(
    browser, owner, make_orders, run_jobs, wanted, monkeypatch
):
    make_orders(ROWS)
    export = request_export(owner, "2025", "").export
    run_jobs()
    old = path_of(export.pk).read_bytes()
    headers = {"range": wanted} if wanted else {}
    answer = browser.get(f"/exports/{export.pk}/file/", headers=headers)
    pieces = iter(answer.streaming_content)
    first = next(pieces)
    assert 0 < len(first) < len(old)

    Order.objects.filter(number__lt="O-001000").delete()
    make_again(export, monkeypatch)
    new = path_of(export.pk).read_bytes()
    assert len(new) < len(old)

    rest = b"".join(pieces)
    assert first + rest == (old[100:] if wanted else old)
    assert answer.headers["Content-Length"] == str(len(first + rest))
    fresh = browser.get(f"/exports/{export.pk}/file/")
    assert fresh.getvalue() == new
    assert fresh.headers["ETag"] != answer.headers["ETag"]


def make_again(export: Export, monkeypatch) -> None:
    """What a repeat does whose attempt before was killed with its file in place: write it, put it there, say so."""
    monkeypatch.setattr(writing, "result_file", partial(result_file, attempt=Attempt()))
    for name in ("report_progress", "should_stop"):
        monkeypatch.setattr(writing, name, lambda *_far: False)
    written = writing.write_file(export, read_period("2025", UTC, timezone.now()))
    Export.objects.filter(pk=export.pk).update(**written.to_json())
