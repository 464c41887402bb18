"""Made-up orders: the same for the same seed, plausible, and awkward enough to be of use."""

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from exports import orders as generator
from exports.models import Order
from exports.orders import BATCH, DAYS, make_orders, orders

FIELDS = ("number", "placed_at", "customer", "note", "status", "amount", "currency")
FULL = 20_000


@pytest.fixture(scope="module")
def many():
    """Enough to see a rhythm."""
    return list(orders(FULL, datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)))


def plain(made):
    return [tuple(getattr(order, name) for name in FIELDS) for order in made]


def test_the_same_seed_makes_the_same_and_another_makes_others(now):
    assert plain(orders(500, now, seed=7)) == plain(orders(500, now, seed=7))
    assert plain(orders(500, now, seed=7)) != plain(orders(500, now, seed=8))


@pytest.mark.parametrize("count", [1, 2, 999, 1001])
def test_it_makes_as_many_as_were_asked_for(now, count):
    assert len(list(orders(count, now))) == count


def test_they_are_of_the_last_years_in_order_of_time_and_none_is_ahead(many, now):
    placed = [order.placed_at for order in many]
    assert placed == sorted(placed)
    assert now - timedelta(days=DAYS) <= placed[0] < now - timedelta(days=DAYS - 10)
    assert now - timedelta(days=2) < placed[-1] < now


def test_none_is_ahead_even_a_moment_after_midnight():
    midnight = datetime(2026, 3, 14, 0, 0, 0, 1, tzinfo=UTC)
    assert all(order.placed_at <= midnight for order in orders(3000, midnight))


def test_there_are_more_on_weekdays_than_on_sundays_and_more_before_christmas_than_in_summer(many):
    days = Counter(order.placed_at.weekday() for order in many)
    assert days[0] > 1.5 * days[6]
    months = Counter((order.placed_at.year, order.placed_at.month) for order in many)
    assert months[2025, 12] > 1.5 * months[2025, 7]


def test_names_are_awkward_and_most_notes_empty(many):
    customers, notes = {order.customer for order in many}, Counter(order.note for order in many)
    for name in ("=SUM & Co", "山田 太郎", "'s Hertogenbosch Fietsen", "x" * 200, "🚲 Wheels & More 🚲"):
        assert name in customers
    assert any("O'Brien" in name for name in customers)
    assert 0.8 * FULL < notes[""] < 0.9 * FULL
    assert any("\r\n" in note for note in notes) and any(note.startswith("=") for note in notes)


def test_some_amounts_are_credits_and_all_have_two_places(many):
    refunds = [order for order in many if order.amount < 0]
    assert 0.02 * FULL < len(refunds) < 0.04 * FULL
    assert {order.status for order in refunds} == {Order.Status.REFUNDED}
    assert all(order.amount == order.amount.quantize(Decimal("0.01")) for order in many)


def test_what_is_new_is_open_and_what_is_old_has_been_sent(many, now):
    new = Counter(order.status for order in many if order.placed_at > now - timedelta(days=1))
    old = Counter(order.status for order in many if order.placed_at < now - timedelta(days=100))
    assert new[Order.Status.SHIPPED] == 0 and new[Order.Status.OPEN] > 0
    assert old[Order.Status.SHIPPED] > 0.8 * old.total()
    assert set(old) == {"shipped", "cancelled", "refunded", "open"}


@pytest.mark.django_db
def test_a_second_call_adds_and_its_numbers_go_on(now):
    Order.objects.create(number="SOMETHING", placed_at=now, customer="x", amount=1)
    first = make_orders(3, now)
    second = make_orders(2, now)
    assert (first.first, first.last, first.before) == ("SO000000001", "SO000000003", 1)
    assert (second.first, second.last, second.before) == ("SO000000004", "SO000000005", 4)
    assert Order.objects.count() == 6


@pytest.mark.django_db
def test_they_are_stored_as_they_were_made_in_batches(now):
    told = []
    make_orders(BATCH + 3, now, told=told.append)
    assert told == [BATCH, BATCH + 3]
    assert list(Order.objects.order_by("number").values_list(*FIELDS)) == plain(orders(BATCH + 3, now))


@pytest.mark.django_db
def test_the_command_says_what_it_has_added_and_to_what():
    said = io.StringIO()
    call_command("make_orders", "5", stdout=said)
    call_command("make_orders", "2", "--seed=9", stdout=said)
    assert said.getvalue().splitlines() == [
        "Added 5 orders, SO000000001 to SO000000005.",
        "Added 2 orders, SO000000006 to SO000000007, to the 5 that were there.",
    ]


@pytest.mark.django_db(transaction=True)
def test_two_that_add_at_the_same_time_do_not_mix(now, monkeypatch):
    make_orders(1, now)
    monkeypatch.setattr(generator, "_next_number", lambda: 1)
    with pytest.raises(CommandError, match="Somebody else adds orders at the same time"):
        call_command("make_orders", "5")
    assert Order.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("count", ["0", "-3", "many", "1e3", "99999999999"])
def test_a_bad_count_gets_a_sentence(count):
    with pytest.raises(CommandError, match="must be a whole number from 1 to 50000000"):
        call_command("make_orders", "--", count)
    assert not Order.objects.exists()
