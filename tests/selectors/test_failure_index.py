"""The index of failures is read as if it were filtered and sorted row by row, and never is."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.ledger.failures import Reading, note_failures
from jobs.models import NAME_LENGTH
from jobs.selectors import failure_index
from jobs.selectors.failure_index import Place, Wanted
from jobs.selectors.paging import PAGE_SIZE
from tests.support.failures import LONG_AGO, failure, failures

pytestmark = pytest.mark.django_db

QUEUES = ["mail", "orders", "stock"]
WAYS = [
    {},
    {"job_type": "fx.rare"},
    {"error_class": "KeyError"},
    {"finding": "result_unknown"},
    {"job_type": "fx.boom", "error_class": "KeyError"},
    {"job_type": "fx.rare", "error_class": "ValueError", "finding": "failed_known"},
    {"since": LONG_AGO + timedelta(seconds=20), "until": LONG_AGO + timedelta(seconds=60)},
    {"since": LONG_AGO + timedelta(seconds=20), "job_type": "fx.boom"},
    {"with_closed": True},
    {"with_closed": True, "error_class": "KeyError"},
    {"job_type": "fx.nobody"},
]
COLUMNS = {"job_type", "error_class", "finding"}


@pytest.fixture
def rows():
    """Of several queues and kinds, many at one moment, some closed, and some of a queue and a store of their own."""
    dice = random.Random(7)
    made = [
        failure(
            dice.choice(["orders", "orders", "mail", "stock", "hidden"]),
            connection=dice.choice(["default"] * 9 + ["other"]),
            job_type=dice.choice(["fx.boom"] * 9 + ["fx.rare", ""]),
            error_class=dice.choice(["ValueError", "ValueError", "KeyError"]),
            finding=dice.choice(["failed_known"] * 5 + ["result_unknown"]),
            place=dice.choice(["failed", "failed", "gone", "moved", "deleted"]),
            failed_at=LONG_AGO + timedelta(seconds=dice.choice([5, 5, dice.randrange(90)])),
        )
        for _ in range(320)
    ]
    return failures(*made)


def expected(rows, way, queues):
    """What the same question gives when every row is looked at."""
    kept = [row for row in rows if row.connection == "default" and row.queue in queues]
    kept = [row for row in kept if row.is_open or way.get("with_closed")]
    kept = [row for row in kept if all(getattr(row, column) == way[column] for column in COLUMNS & way.keys())]
    kept = [row for row in kept if way.get("since", row.failed_at) <= row.failed_at <= way.get("until", row.failed_at)]
    return [row.pk for row in sorted(kept, key=lambda row: (row.failed_at, row.pk), reverse=True)]


def read(wanted, queues, after=None, before=None):
    return failure_index.read_page(wanted, queues, after=after, before=before)


def pages(wanted, queues):
    """Every page from the newest on."""
    page = read(wanted, queues)
    yield page
    while page.last:
        page = read(wanted, queues, after=page.last)
        yield page


@pytest.mark.parametrize("queues", [QUEUES, ["orders"], ["nowhere"]], ids="+".join)
def test_its_pages_hold_every_row_that_fits_once_and_in_order(rows, queues):
    for way in WAYS:
        wanted = failure_index.steered(Wanted(connection="default", **way), queues)
        found = list(pages(wanted, queues))
        assert [row.pk for page in found for row in page.rows] == expected(rows, way, queues), way
        assert all(len(page.rows) == PAGE_SIZE for page in found[:-1])
        assert failure_index.count(wanted, queues) == len(expected(rows, way, queues)), way


def test_the_way_back_leads_over_the_same_pages(rows):
    wanted = Wanted(connection="default")
    forwards = list(pages(wanted, QUEUES))
    assert len(forwards) > 3 and forwards[0].first is None
    for newer, older in pairwise(forwards):
        back = read(wanted, QUEUES, before=older.first)
        assert [row.pk for row in back.rows] == [row.pk for row in newer.rows]


def test_a_place_leads_on_when_its_row_is_gone_and_when_others_have_come(rows):
    wanted = Wanted(connection="default")
    first, second = list(pages(wanted, QUEUES))[:2]
    first.rows[-1].delete()
    failures(*(failure("orders") for _ in range(30)))
    after = read(wanted, QUEUES, after=first.last)
    assert [row.pk for row in after.rows] == [row.pk for row in second.rows]


def test_beyond_the_last_row_a_page_is_empty_and_leads_back(rows):
    page = read(Wanted(connection="default"), QUEUES, after=Place(LONG_AGO, 0))
    assert (list(page.rows), page.first, page.last) == ([], Place(LONG_AGO, 0), None)


def test_nothing_is_asked_for_nobodys_queues(django_assert_num_queries, rows):
    with django_assert_num_queries(0):
        assert list(read(Wanted(connection="default"), []).rows) == []
        assert failure_index.count(Wanted(connection="default"), []) == 0
        assert failure_index.choices("job_type", Wanted(connection="default"), []) == []


def test_more_queues_than_fit_into_one_question_are_asked_for_in_several(monkeypatch, rows):
    monkeypatch.setattr(failure_index, "_AT_ONCE", 2)
    wanted = Wanted(connection="default")
    assert [row.pk for page in pages(wanted, QUEUES) for row in page.rows] == expected(rows, {}, QUEUES)
    assert failure_index.count(wanted, QUEUES) == len(expected(rows, {}, QUEUES))


def test_nobody_counts_further_than_a_bound(monkeypatch, rows):
    monkeypatch.setattr(failure_index, "COUNTED", 40)
    assert failure_index.count(Wanted(connection="default"), QUEUES) == 41


@pytest.mark.parametrize("column", sorted(COLUMNS))
@pytest.mark.parametrize("with_closed", [False, True])
def test_choices_are_what_there_is_in_these_queues_and_nowhere_else(rows, column, with_closed):
    failures(
        failure("hidden", **{column: "hidden_value"}), failure("orders", place="moved", **{column: "closed_value"})
    )
    found = failure_index.choices(column, Wanted(connection="default", with_closed=with_closed), QUEUES)
    assert found == sorted(
        {getattr(row, column) for row in rows if row.queue in QUEUES and row.connection == "default"} - {""}
        | ({"closed_value"} if with_closed else set())
    )


def test_choices_are_capped(monkeypatch):
    monkeypatch.setattr(failure_index, "CHOICES", 3)
    failures(*(failure(error_class=f"Error{number:02}") for number in range(40)))
    assert failure_index.choices("error_class", Wanted(connection="default"), ["orders"]) == [
        "Error00",
        "Error01",
        "Error02",
    ]


def test_a_queue_is_known_by_its_failures(rows):
    assert failure_index.indexed_queues("default") == ["hidden", *QUEUES]
    assert failure_index.indexed_queues("nowhere") == []


def test_the_longest_names_of_the_widest_letters_can_be_indexed():
    """Letters that no database packs into fewer bytes: the index of PostgreSQL takes 2,704 of them in a row."""
    dice = random.Random(7)
    wide = ["".join(chr(dice.randrange(0x10000, 0x1FFFF)) for _ in range(NAME_LENGTH)) for _ in range(3)]
    row = failure(wide[0], job_id=wide[1], connection="c" * 64, job_type=wide[2], error_class=wide[2][:200])
    note_failures([Reading(row, [])], LONG_AGO)
    (kept,) = read(Wanted(connection="c" * 64), [wide[0]]).rows
    assert wide[2].startswith(kept.job_type) and len(kept.job_type.encode()) == 512
    assert wide[2].startswith(kept.error_class) and len(kept.error_class.encode()) == 200


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "1-1-1", "٣-1", "9" * 18 + "-1", "1-" + "9" * 19, "1.5-1"])
def test_a_place_that_is_none_of_ours_is_told_apart(text):
    with pytest.raises(ValueError, match="does not name a place"):
        Place.decode(text)


@pytest.mark.parametrize("text", ["0-0", "9" * 17 + "-" + "9" * 18])
def test_the_farthest_places_can_be_asked_for(rows, text):
    for way in ("after", "before"):
        read(Wanted(connection="default"), QUEUES, **{way: Place.decode(text)})


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL reads a small table whole, whatever the index")
@pytest.mark.parametrize("place", [None, Place(LONG_AGO, 7)], ids=["first", "after"])
def test_rows_are_read_from_an_index_that_has_them_in_order(rows, place):
    for way in WAYS:
        wanted = Wanted(connection="default", **way)
        with CaptureQueriesContext(connection) as queries:
            read(wanted, QUEUES, after=place)
            failure_index.count(wanted, QUEUES)
            failure_index.choices("error_class", wanted, QUEUES)
        page, counted, choices = [plan(query["sql"]) for query in queries if " IN (" not in query["sql"]]
        column = next(iter(COLUMNS & way.keys()), "is_open") if len(COLUMNS & way.keys()) < 2 else "is_open"
        for steps, narrowest in ((page, f"{column}=?"), (counted, f"{column}=?"), (choices, "error_class>?")):
            reads = [pair for pair in pairwise([*steps, ""]) if "job" in pair[0].split()]
            assert reads
            for step, next_step in reads:
                assert "INDEX failed_by_" in step and narrowest in step
                assert "TEMP B-TREE" not in next_step


def plan(sql):
    """What SQLite says that it does, step by step."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return [row[3] for row in cursor.fetchall()]
