"""Which entries a person may read, and in which pages."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from guardian.shortcuts import assign_perm

from jobs.models import AuditEntry, Queue
from jobs.permissions import visibility
from jobs.selectors.audit import Narrowed, Place, audit_page
from tests.support.audit import entries, entry

pytestmark = pytest.mark.django_db


def read(reader, after=None, before=None, **narrowed):
    return audit_page(reader, visibility(reader), Narrowed(**narrowed), after=after, before=before)


def subjects(page):
    return [row.entry.subject for row in page.rows]


@pytest.fixture
def records(now, orders, payroll):
    """One entry of every kind there is."""
    entry(now, ago=1, subject="in orders")
    entry(now, ago=2, subject="in payroll", queue="payroll", actor_name="pia")
    entry(now, ago=3, subject="refused in payroll", queue="payroll", actor_name="otto", status="refused")
    entry(now, ago=4, subject="on no record", queue="nowhere", actor_name="root")
    entry(now, ago=5, subject="elsewhere", connection="other")
    entry(now, ago=6, subject="a.declared.type", queue="", connection="", verb="declare_job_type")
    entry(now, ago=7, subject="user otto: view_queue", verb="grant_access")
    entry(now, ago=8, subject="user pia: view_queue", verb="grant_access", queue="payroll")
    entry(now, ago=9, subject="access", verb="grant_access", queue="", connection="", status="refused")


def test_a_lead_reads_what_is_of_the_leads_queues_and_declarations(records, lead):
    assert subjects(read(lead)) == ["in orders", "a.declared.type", "user otto: view_queue"]


def test_who_does_not_declare_reads_no_declarations(records, viewer):
    assert subjects(read(viewer)) == ["in orders", "user otto: view_queue"]


def test_who_sees_no_queue_reads_nothing(records, outsider):
    assert subjects(read(outsider)) == []


def test_a_superuser_reads_all_of_queues_without_a_record_too(records, superuser):
    assert len(read(superuser).rows) == AuditEntry.objects.count() == 9


def test_a_queue_of_the_same_name_on_another_connection_is_another_queue(records, viewer):
    assign_perm("view_queue", viewer, Queue.objects.create(connection="other", name="payroll"))
    assert "in payroll" not in subjects(read(viewer))
    assert "elsewhere" not in subjects(read(viewer))


def test_people_are_suggested_who_did_something_that_the_reader_may_read(records, viewer, superuser):
    assert read(viewer).people == ("otto",)
    assert read(superuser).people == ("otto", "pia", "root")


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"person": "pia"}, ["in payroll"]),
        ({"person": "PIA"}, []),
        ({"job": "on no record"}, ["on no record"]),
        ({"verb": "grant_access"}, ["user otto: view_queue", "user pia: view_queue", "access"]),
        ({"status": "refused"}, ["refused in payroll", "access"]),
        ({"status": "refused", "verb": "retry_job", "person": "otto"}, ["refused in payroll"]),
        ({"queue": Queue(connection="other", name="orders")}, ["elsewhere"]),
        ({"queue": Queue(connection="default", name="")}, []),
        ({"batch": UUID(int=1)}, []),
    ],
)
def test_each_way_to_narrow_narrows(records, superuser, narrowed, found):
    assert subjects(read(superuser, **narrowed)) == found


def test_a_press_is_narrowed_to_its_entries(records, superuser, now):
    batch = uuid4()
    for subject in ("a", "b"):
        entry(now, subject=subject, batch=batch)
    assert sorted(subjects(read(superuser, batch=batch))) == ["a", "b"]


def test_narrowing_never_shows_what_is_hidden(records, lead):
    hidden = AuditEntry.objects.get(subject="in payroll")
    for narrowed in ({"entry": hidden.pk}, {"person": "pia"}, {"job": "in payroll"}, {"queue": Queue.objects.last()}):
        assert subjects(read(lead, **narrowed)) == []


def test_a_row_leads_to_what_has_a_page(records, lead, superuser, redis_client):
    about = {row.entry.subject: row.about for row in read(superuser).rows}
    assert about["in orders"] == about["on no record"] == "job"
    assert about["elsewhere"] == ""  # its connection is no longer configured
    assert about["a.declared.type"] == "job_type"
    assert about["user otto: view_queue"] == ""


def walk(person, first, way):
    """Every page from `first` on, in one direction."""
    pages = [first]
    while place := getattr(pages[-1], way):
        place = Place.decode(place)
        pages.append(read(person, **({"after": place} if way == "older" else {"before": place})))
    return pages


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 101, 123])
def test_pages_show_every_entry_once_forwards_and_back(now, superuser, count):
    made = [one.pk for one in entries(now, count)]
    there = walk(superuser, read(superuser), "older")
    assert [row.entry.pk for page in there for row in page.rows] == made
    assert [len(page.rows) for page in there[:-1]] == [50] * (len(there) - 1)
    back = walk(superuser, there[-1], "newer")
    assert [page.rows for page in back] == [page.rows for page in reversed(there)]
    assert back[-1].is_first and back[-1].newer is None


def test_new_entries_do_not_shift_a_page(now, superuser):
    made = entries(now, 70)
    older = Place.decode(read(superuser).older)
    entries(now + timedelta(hours=1), 30)
    assert [row.entry.pk for row in read(superuser, after=older).rows] == [one.pk for one in made[50:]]


def test_a_place_serves_without_its_entry(now, superuser):
    """Also one that the reader may not see, or that a copy of the database never had."""
    made = entries(now, 3)
    between = Place(made[0].created_at, UUID(int=0))
    assert [row.entry.pk for row in read(superuser, after=between).rows] == [made[2].pk]


def test_newer_entries_that_fill_no_page_are_shown_with_those_after_them(now, superuser):
    made = entries(now, 60)
    page = read(superuser, before=Place(made[10].created_at, made[10].pk))
    assert [row.entry.pk for row in page.rows] == [one.pk for one in made[:50]]
    assert page.is_first and page.older


@pytest.mark.parametrize(
    "text", ["", "1", "1-2", "x-" + "0" * 32, "1-" + "g" * 32, "9" * 18 + "-" + "0" * 32, "-1-" + "0" * 32]
)
def test_what_is_no_place_is_an_error(text):
    with pytest.raises(ValueError, match="does not name a place"):
        Place.decode(text)


def test_a_place_is_read_as_it_was_written(now):
    for at in (now, now + timedelta(microseconds=1), now - timedelta(days=3000)):
        place = Place(at, uuid4())
        assert Place.decode(place.encode()) == place
    assert Place.decode("9" * 17 + "-" + "f" * 32)
