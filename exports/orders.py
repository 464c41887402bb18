"""Orders to export: made up, of a plausible rhythm, with the awkward names and notes that real ones have.

The same seed, first number and end give the same orders. They are made one by one, in order of time, and written in
batches, so that a million takes no more memory than a thousand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import accumulate, chain, islice

from exports.models import Order

DAYS = 1000
"""How far back the first order lies."""
MOST = 50_000_000
BATCH = 2000
_PREFIX, _DIGITS = "SO", 9
_NUMBER = rf"^{_PREFIX}[0-9]{{{_DIGITS}}}$"

_WEEKDAYS = (1.2, 1.1, 1.0, 1.0, 1.1, 0.7, 0.5)
_MONTHS = (0.8, 0.8, 0.9, 1.0, 1.0, 0.9, 0.7, 0.7, 1.0, 1.1, 1.5, 1.6)
_HOURS = (2, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 13, 14, 13, 12, 12, 12, 13, 15, 17, 18, 14, 8, 4)

_GIVEN = (
    "Anna",
    "Zoë",
    "Łukasz",
    "José",
    "Siobhán",
    "Jürgen",
    "Ngọc",
    "Ólafur",
    "Chinwe",
    "Priya",
    "İbrahim",
    "Maëlys",
)
_FAMILY = (
    "O'Brien",
    "Müller",
    "García-López",
    "Wójcik",
    "Nguyễn",
    "van 't Hoff",
    "Þórsson",
    "Okafor",
    "Iyer",
    "D’Amico",
)
_WHOLE = (
    "山田 太郎",
    "김민준",
    "王小明",
    "Дмитрий Соколов",
    "Ελένη Παππά",
    "محمد الأحمد",
    "נועה לוי",
    "สมชาย ใจดี",
    "अनन्या शर्मा",
)
_TRADES = ("Bakery", "Söhne", "Ferramentas", "Elektro", "Książki", "Coffee Roasters", "Möbel", "Cycles", "Chá & Café")
_FORMS = ("GmbH", "& Co. KG", "Ltd", "S.A.", "s.r.o.", "Sp. z o.o.", "AB", "Inc.", "株式会社")
_AWKWARD = (
    "=SUM & Co",
    "+Plus Optik",
    "-Anna",
    "@home Services",
    "'s Hertogenbosch Fietsen",
    "Müller & Söhne; Filiale Süd",
    'The "Corner" Shop, Ltd',
    "Tab\tStop Stationery",
    "🚲 Wheels & More 🚲",
    "\u202bمتجر الكتب\u202c",
    "e\u0301clair (decomposed)",
    " leading blank",
    "NULL",
    "x" * 200,
    "Gesellschaft für außergewöhnlich lange Firmennamen und deren vollständige Wiedergabe mbH, Zweigniederlassung",
)
_NOTES = (
    "Please leave it with the neighbours.",
    "Rechnung bitte an die Zentrale, Abt. Einkauf.",
    "Gift wrapping: yes; card: no",
    "Second delivery attempt, the bell is broken",
    "お急ぎ便でお願いします",
    "Сдача не нужна",
)
_AWKWARD_NOTES = (
    "Line one\nline two\r\nline three",
    '=HYPERLINK("http://127.0.0.1:9/x","open")',
    "Delivered; -1 box, +2 bags",
    'He said "never again", then ordered',
    "\tindented",
    "'quoted'",
    "<b>bold</b> & <script>alert(1)</script>",
    "A very long story. " * 150,
)
_CURRENCIES = ("EUR",) * 17 + ("CHF", "GBP", "PLN")


@dataclass(frozen=True)
class Made:
    """The numbers of the first and the last order that were made, and how many were there before."""

    first: str
    last: str
    before: int


def make_orders(
    count: int, until: datetime, *, seed: int = 1, days: int = DAYS, told: Callable[[int], None] | None = None
) -> Made:
    """Add so many orders of the `days` before `until`; `told` hears after each batch how many are stored by now.

    Numbers go on after the largest that is there. Each batch is a transaction of its own, so nobody waits long.
    """
    before, first = Order.objects.count(), _next_number()
    made = orders(count, until, first=first, seed=seed, days=days)
    stored = 0
    while batch := list(islice(made, BATCH)):
        Order.objects.bulk_create(batch)
        stored += len(batch)
        if told:
            told(stored)
    return Made(_number(first), _number(first + count - 1), before)


def orders(count: int, until: datetime, *, first: int = 1, seed: int = 1, days: int = DAYS) -> Iterator[Order]:
    """So many orders, unsaved, the oldest first; the last one is placed before `until`."""
    # A second batch of the same seed is no copy of the first.
    dice = random.Random(f"{seed}:{first}")  # noqa: S311 - nobody's secret
    customers = _customers(dice)
    number = first
    for day, placed in _spread(count, until, days):
        moments = sorted(_moment(day, until, dice) for _ in range(placed))
        for placed_at in moments:
            yield _order(_number(number), placed_at, until - placed_at, customers, dice)
            number += 1


# ----------------------------------------------------------------------------------------------------------------------


def _next_number() -> int:
    """One more than the largest of our shape; others may number as they like."""
    ours = Order.objects.filter(number__startswith=_PREFIX, number__regex=_NUMBER)
    last = ours.order_by("-number").values_list("number", flat=True).first()
    return int(last.removeprefix(_PREFIX)) + 1 if last else 1


def _number(number: int) -> str:
    return f"{_PREFIX}{number:0{_DIGITS}}"


def _spread(count: int, until: datetime, days: int) -> Iterator[tuple[datetime, int]]:
    """The beginning of each day, and how many orders it has: by weekday and season, growing slowly."""
    last = datetime.combine(until.astimezone(UTC).date(), time(), UTC)
    each = [last - timedelta(days=days - 1 - number) for number in range(days)]
    weights = [_WEEKDAYS[day.weekday()] * _MONTHS[day.month - 1] * (1 + at / days) for at, day in enumerate(each)]
    sums = list(accumulate(weights))
    # Rounded sums, not rounded parts: in the end it is `count`, however few or many there are.
    reached = [round(count * part / sums[-1]) for part in sums]
    return ((day, now - before) for day, before, now in zip(each, chain((0,), reached), reached, strict=False))


def _moment(day: datetime, until: datetime, dice: random.Random) -> datetime:
    hour = dice.choices(range(24), _HOURS)[0]
    moment = day + timedelta(hours=hour, seconds=dice.randrange(3600), milliseconds=dice.randrange(1000))
    # The last day has not ended yet.
    return moment if moment < until else day + (until - day) * dice.random()


def _customers(dice: random.Random) -> list[str]:
    people = [f"{given} {family}" for given in _GIVEN for family in _FAMILY]
    companies = [f"{family} {trade} {form}" for family in _FAMILY for trade in _TRADES for form in _FORMS]
    customers = [*people, *companies, *_WHOLE * 10, *_AWKWARD * 3]
    dice.shuffle(customers)
    return customers


def _order(number: str, placed_at: datetime, age: timedelta, customers: list[str], dice: random.Random) -> Order:
    cents = int(dice.lognormvariate(8.2, 1.0)) + 99
    is_credit = dice.random() < 0.03
    return Order(
        number=number,
        placed_at=placed_at,
        # Some come often.
        customer=customers[int(len(customers) * dice.random() ** 2)],
        note=_note(dice),
        status=Order.Status.REFUNDED if is_credit else _status(age, dice.random()),
        amount=Decimal(-cents if is_credit else cents).scaleb(-2),
        currency=dice.choice(_CURRENCIES),
    )


def _note(dice: random.Random) -> str:
    """Most have none."""
    luck = dice.random()
    if luck < 0.85:
        return ""
    return dice.choice(_NOTES if luck < 0.97 else _AWKWARD_NOTES)


def _status(age: timedelta, luck: float) -> Order.Status:
    """What is old has long been sent, or cancelled; a few are never paid."""
    if luck < 0.04:
        return Order.Status.CANCELLED
    if age < timedelta(days=1):
        return Order.Status.OPEN if luck < 0.6 else Order.Status.PAID
    if age < timedelta(days=5):
        return Order.Status.PAID if luck < 0.5 else Order.Status.SHIPPED
    return Order.Status.OPEN if luck < 0.05 else Order.Status.SHIPPED
