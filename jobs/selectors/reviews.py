"""The review queue: the open questions that a reader may see, or those that were answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Case, Count, Exists, F, IntegerField, OuterRef, Prefetch, Q, QuerySet, Value, When

from jobs.models import OperationEvent, Queue, Resolution, Review
from jobs.permissions import Visibility
from jobs.selectors.failure_index import COUNTED
from jobs.selectors.lists import in_visible_queues
from jobs.selectors.paging import PAGE_SIZE, read_sheet, stamp_of, time_of_stamp

_PLACE = re.compile(r"([0-2])-(\d{1,17})-(\d{1,18})", re.ASCII)
_PROMISED, _WAITING, _PUT_OFF = range(3)
"""The order in which open reviews stand: first those that somebody meant to look at again by now, last the put off."""


@dataclass(frozen=True)
class Place:
    """A review's place in the list, as it stands in an address; the review itself need not be there."""

    group: int
    at: datetime
    pk: int

    def encode(self) -> str:
        return f"{self.group}-{stamp_of(self.at)}-{self.pk}"

    @classmethod
    def decode(cls, text: str) -> Place:
        """The place in an address. Raises ValueError for anything that `encode` did not make."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError("This address does not name a place in the review queue.")
        return cls(int(match[1]), time_of_stamp(match[2]), int(match[3]))


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """What the reader wants to see; None and False narrow nothing. `closed`: the answered ones instead of the open."""

    queue: Queue | None = None
    mine: bool = False
    overdue: bool = False
    closed: bool = False

    @property
    def query(self) -> dict[str, str]:
        """As it stands in the address."""
        query = {"queue": self.queue.name, "connection": self.queue.connection} if self.queue else {}
        ticked = {name: "1" for name in ("mine", "overdue") if getattr(self, name)}
        return query | ticked | ({"show": "closed"} if self.closed else {})


@dataclass(frozen=True)
class ReviewRow:
    """One review of the list, as it stands at this moment."""

    review: Review
    now: datetime

    @property
    def is_overdue(self) -> bool:
        return self.review.closed_at is None and self.review.due_at <= self.now

    @property
    def is_held(self) -> bool:
        until = self.review.claimed_until
        return self.review.closed_at is None and until is not None and until > self.now

    @property
    def is_put_off(self) -> bool:
        until = self.review.snoozed_until
        return until is not None and until > self.now

    @property
    def is_promised(self) -> bool:
        """Somebody put it off until a time that has come."""
        return self.review.snoozed_until is not None and not self.is_put_off

    @property
    def is_contradicted(self) -> bool:
        """There is contradicting evidence of its operation: an incident."""
        return bool(getattr(self.review, "is_contradicted", False))

    @property
    def answer(self) -> Resolution | None:
        """What closed it, where it is closed."""
        said = self.review.resolutions.all() if self.review.closed_at else ()
        return next((one for one in said if one.verdict == self.review.verdict), None)


@dataclass(frozen=True, kw_only=True)
class ReviewsPage:
    """`previous` and `next` are places for the address, None where there is nothing more in that direction."""

    rows: tuple[ReviewRow, ...]
    previous: str | None
    next: str | None
    total: int
    """How many there are; COUNTED + 1 when there are more than COUNTED."""
    overdue: int
    """How many of these are, or of closed ones were, older than their age limit: as far as was counted."""

    @property
    def is_capped(self) -> bool:
        return self.total > COUNTED

    @property
    def counted(self) -> int:
        """As far as was counted."""
        return min(self.total, COUNTED)


def reviews_page(
    user: User,
    seen: Visibility,
    narrowed: Narrowed,
    *,
    now: datetime,
    after: Place | None = None,
    before: Place | None = None,
) -> ReviewsPage:
    """One page of the reviews that this person may see: those after a place, or before it.

    Open ones from the oldest on, those that are put off last; closed ones from the newest back.
    """
    wanted = _wanted(user, seen, narrowed, now)
    grouped = _grouped(wanted, now, closed=narrowed.closed)
    sheet = read_sheet(lambda *beyond: _read(grouped, narrowed, *beyond), _place, after=after, before=before)
    return ReviewsPage(
        rows=tuple(ReviewRow(one, now) for one in sheet.rows),
        previous=sheet.first.encode() if sheet.first else None,
        next=sheet.last.encode() if sheet.last else None,
        **_counted(wanted, narrowed, now),
    )


def visible_reviews(seen: Visibility) -> QuerySet[Review]:
    """Every review of a queue that may be seen, with its operation."""
    return Review.objects.select_related("operation").filter(in_visible_queues(seen, "operation__"))


def _wanted(user: User, seen: Visibility, narrowed: Narrowed, now: datetime) -> QuerySet[Review]:
    found = visible_reviews(seen).filter(closed_at__isnull=not narrowed.closed)
    if narrowed.queue:
        found = found.filter(operation__connection=narrowed.queue.connection, operation__queue=narrowed.queue.name)
    if narrowed.mine:
        mine = Q(resolutions__actor=user) if narrowed.closed else Q(claimed_by=user, claimed_until__gt=now)
        found = found.filter(pk__in=Review.objects.filter(mine).values("pk"))
    return found.filter(_late(now, closed=narrowed.closed)) if narrowed.overdue else found


def _late(now: datetime, *, closed: bool) -> Q:
    return Q(due_at__lte=F("closed_at")) if closed else Q(due_at__lte=now)


def _counted(wanted: QuerySet[Review], narrowed: Narrowed, now: datetime) -> dict[str, int]:
    """Of closed ones the newest, of open ones the oldest: reviews are kept for good, and nobody counts for ever."""
    order = "-closed_at" if narrowed.closed else "opened_at"
    some = wanted.select_related(None).order_by(order)[: COUNTED + 1]
    late = _late(now, closed=narrowed.closed)
    counted = some.aggregate(total=Count("pk"), overdue=Count("pk", filter=late))
    return counted | {"overdue": min(counted["overdue"], COUNTED)}


def _grouped(reviews: QuerySet[Review], now: datetime, *, closed: bool) -> QuerySet[Review]:
    """With what the order goes by, `group`, then `at`; and whether its operation has contradicting evidence."""
    incidents = OperationEvent.objects.filter(operation=OuterRef("operation_id"), kind="contradiction")
    reviews = reviews.select_related("operation", "effect").annotate(is_contradicted=Exists(incidents))
    if closed:
        said = Prefetch("resolutions", Resolution.objects.order_by("-created_at", "-id"))
        return reviews.prefetch_related(said).annotate(group=_number(_WAITING), at=F("closed_at"))
    group = Case(
        When(snoozed_until=None, then=_number(_WAITING)),
        When(snoozed_until__gt=now, then=_number(_PUT_OFF)),
        default=_number(_PROMISED),
        output_field=IntegerField(),
    )
    return reviews.annotate(group=group, at=F("opened_at"))


def _number(value: int) -> Value:
    return Value(value, output_field=IntegerField())


def _read(reviews: QuerySet[Review], narrowed: Narrowed, place: Place | None, is_backwards: bool) -> list[Review]:
    newest_first = narrowed.closed is not is_backwards
    if place:
        reviews = reviews.filter(_beyond(place, later=not newest_first, next_group=not is_backwards))
    ordered = reviews.order_by(*_order(newest_first, "-group" if is_backwards else "group"))
    return list(ordered[: PAGE_SIZE + 1])


def _order(newest_first: bool, groups: str) -> tuple[str, str, str]:
    return (groups, "-at", "-pk") if newest_first else (groups, "at", "pk")


def _beyond(place: Place, *, later: bool, next_group: bool) -> Q:
    """What lies on one side of a place: `later` in its own group, and all of the groups on that side."""
    word = "gt" if later else "lt"
    in_group = Q(group=place.group) & (Q(**{f"at__{word}": place.at}) | Q(at=place.at, **{f"pk__{word}": place.pk}))
    return in_group | (Q(group__gt=place.group) if next_group else Q(group__lt=place.group))


def _place(review: Review) -> Place:
    group, at = review.group, review.at  # type: ignore[attr-defined]  # annotated by _grouped
    return Place(group, at, review.pk)
