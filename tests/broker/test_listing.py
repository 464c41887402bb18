"""Keyset pages over sorted sets: every entry once, in one order, while the sets change underneath."""

from __future__ import annotations

import pytest

from jobs.broker import connections
from jobs.broker.cursors import BadCursor, Cursor, decode
from jobs.broker.listing import SLACK, Place, read_listing
from tests.support.traffic import count_traffic

PLACES = [Place("mail", "z:mail"), Place("orders", "z:orders"), Place("payroll", "z:payroll")]


def fill(client, key, scores):
    client.zadd(key, {f"{key}-{at:05d}": score for at, score in enumerate(scores)})


def listing(places, **options):
    with connections.reading("default") as client:
        return read_listing(client, places, **options)


def cursor_of(entry):
    return Cursor(score=entry.score, queue=entry.queue, member=entry.member, rank=entry.rank)


def walk(places, *, between=lambda page: None, **options):
    """All pages from first to last, as lists of (queue, member)."""
    seen, after = [], None
    while True:
        page = listing(places, after=after, **options)
        seen += [(one.queue, one.member) for one in page.entries]
        if not page.has_older:
            return seen
        after = cursor_of(page.entries[-1])
        between(page)


@pytest.mark.parametrize("rising", [False, True])
def test_pages_of_several_queues_show_each_entry_once_in_order(redis_client, rising):
    for shift, place in enumerate(PLACES):
        fill(redis_client, place.key, [(at * 7 + shift) % 40 for at in range(130)])
    seen = walk(PLACES, size=20, soonest_first=rising)
    scores = [redis_client.zscore(f"z:{queue}", member) for queue, member in seen]
    assert len(seen) == len(set(seen)) == 390
    assert scores == sorted(scores, reverse=not rising)


def test_a_thousand_entries_of_one_score_are_paged_without_loss(redis_client):
    fill(redis_client, "z:orders", [9999999999] * 1000)
    assert len(set(walk([PLACES[1]], size=50))) == 1000


def test_the_first_entry_is_the_newest_as_redis_orders_it(redis_client):
    redis_client.zadd("z:orders", {"a": 1, "ab": 1, "b": 1, "c": 0})
    page = listing([PLACES[1]], size=10)
    assert [one.member for one in page.entries] == redis_client.zrevrange("z:orders", 0, -1)


def test_going_back_shows_the_same_rows_as_before(redis_client):
    for place in PLACES:
        fill(redis_client, place.key, [at // 3 for at in range(100)])
    first = listing(PLACES, size=20)
    second = listing(PLACES, size=20, after=cursor_of(first.entries[-1]))
    again = listing(PLACES, size=20, before=cursor_of(second.entries[0]))
    assert [one.member for one in again.entries] == [one.member for one in first.entries]
    assert not again.has_newer and again.has_older


def test_newcomers_do_not_shift_the_next_page(redis_client):
    fill(redis_client, "z:orders", range(200))
    arrived = iter(range(10_000))

    def newcomers(page):
        redis_client.zadd("z:orders", {f"new-{next(arrived)}": 5000 for _ in range(3 * SLACK)})

    seen = walk([PLACES[1]], size=30, between=newcomers)
    assert [member for _, member in seen] == [b"z:orders-%05d" % at for at in reversed(range(200))]


def test_a_cursor_whose_own_row_is_gone_still_finds_its_place(redis_client):
    fill(redis_client, "z:orders", [7] * 400)

    def remove_last_and_many(page):
        redis_client.zrem("z:orders", *[one.member for one in page.entries])

    seen = walk([PLACES[1]], size=40, between=remove_last_and_many)
    assert len(set(seen)) == 400


def test_a_cursor_is_found_when_its_hint_is_far_off(redis_client):
    fill(redis_client, "z:orders", [3] * 3000)
    right = listing([PLACES[1]], size=50, after=Cursor(score=3, queue="orders", member=b"z:orders-01500", rank=1499))
    wrong = listing([PLACES[1]], size=50, after=Cursor(score=3, queue="orders", member=b"z:orders-01500", rank=2**40))
    assert right.entries == wrong.entries
    assert right.entries[0].member == b"z:orders-01499"


def test_a_far_hint_costs_few_round_trips(redis_client):
    fill(redis_client, "z:orders", [3] * 3000)
    with count_traffic(redis_client) as traffic:
        listing([PLACES[1]], size=50, after=Cursor(score=3, queue="orders", member=b"gone", rank=2**40))
    assert traffic.round_trips <= 8


@pytest.mark.parametrize(("depth", "commands"), [(0, 6), (1, 8), (5, 8)])
def test_a_page_is_one_round_trip_at_any_depth(redis_client, depth, commands):
    for place in PLACES:
        fill(redis_client, place.key, [at // 10 for at in range(300)])
    after = None
    for _ in range(depth):
        after = cursor_of(listing(PLACES, size=50, after=after).entries[-1])
    with count_traffic(redis_client) as traffic:
        listing(PLACES, size=50, after=after)
    assert (traffic.round_trips, traffic.commands) == (1, commands)


def test_a_total_counts_every_set(redis_client):
    fill(redis_client, "z:mail", range(3))
    fill(redis_client, "z:orders", range(4))
    assert listing(PLACES, size=2).total == 7


def test_nothing_to_list_is_an_empty_page(redis_client):
    page = listing([])
    assert (page.entries, page.total, page.has_older) == ((), 0, False)


def test_a_key_of_the_wrong_type_lists_nothing_and_spoils_nothing(redis_client):
    redis_client.set("z:mail", "no set")
    fill(redis_client, "z:orders", range(4))
    assert len(listing(PLACES).entries) == 4


def test_a_cursor_survives_its_way_through_an_address():
    cursor = Cursor(score=float("inf"), queue="ünï/q", member=b"\xff\x00id", rank=12)
    assert decode(cursor.encode()) == cursor


@pytest.mark.parametrize("text", ["x", "-1", "99999999", "W10", "bnVsbA", "WzEsMiwzXQ", "😀", "W1s" * 500])
def test_a_text_that_is_no_cursor_is_refused(text):
    with pytest.raises(BadCursor):
        decode(text)
