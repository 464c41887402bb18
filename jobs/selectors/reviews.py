"""The review queue: the open questions that a reader may see, or those that were answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Case, Count, F, IntegerField, Prefetch, Q, QuerySet, Value, When

from jobs.models import Queue, Resolution, Review
from jobs.permissions import Visibility

PAGE_SIZE = 50

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
        return f"{self.group}-{(self.at - _EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def decode(cls, text: str) -> Place:
        """The place in an address. Raises ValueError for anything that `encode` did not make."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError("This address does not name a place in the review queue.")
        return cls(int(match[1]), _EPOCH + timedelta(microseconds=int(match[2])), int(match[3]))


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
    overdue: int
    """How many of all of them are, or of closed ones were, older than their age limit."""


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
    found, previous, following = _before(grouped, before, narrowed) if before else _after(grouped, after, narrowed)
    late = _late(now, closed=narrowed.closed)
    return ReviewsPage(
        rows=tuple(ReviewRow(one, now) for one in found),
        previous=previous.encode() if previous else None,
        next=following.encode() if following else None,
        **wanted.aggregate(total=Count("pk"), overdue=Count("pk", filter=late)),
    )


def visible_reviews(seen: Visibility) -> QuerySet[Review]:
    """Every review of a queue that may be seen, with its operation."""
    reviews = Review.objects.select_related("operation")
    if seen.everything:
        return reviews
    names: dict[str, list[str]] = {}
    for queue in seen.queues:
        names.setdefault(queue.connection, []).append(queue.name)
    allowed = Q(pk__in=[])
    for connection, queues in names.items():
        allowed |= Q(operation__connection=connection, operation__queue__in=queues)
    return reviews.filter(allowed)


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


def _grouped(reviews: QuerySet[Review], now: datetime, *, closed: bool) -> QuerySet[Review]:
    """With what the order goes by: `group`, then `at`."""
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


_Found = tuple[list[Review], Place | None, Place | None]
"""The reviews of a page in their order, and the places from which the pages before and after it begin."""


def _after(wanted: QuerySet[Review], place: Place | None, narrowed: Narrowed) -> _Found:
    forwards = _order(narrowed.closed)
    if place:
        wanted = wanted.filter(_beyond(place, later=not narrowed.closed, next_group=True))
    found = list(wanted.order_by(*forwards)[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    first = _place(shown[0]) if shown else place
    return shown, first if place else None, _place(shown[-1]) if len(found) > PAGE_SIZE else None


def _before(wanted: QuerySet[Review], place: Place, narrowed: Narrowed) -> _Found:
    """The last page of those before the place; where they fill no page, the first page, which has them all."""
    backwards = _order(not narrowed.closed, groups="-group")
    earlier = wanted.filter(_beyond(place, later=narrowed.closed, next_group=False))
    found = list(earlier.order_by(*backwards)[: PAGE_SIZE + 1])
    if len(found) <= PAGE_SIZE:
        return _after(wanted, None, narrowed)
    shown = found[PAGE_SIZE - 1 :: -1]
    return shown, _place(shown[0]), _place(shown[-1])


def _order(newest_first: bool, groups: str = "group") -> tuple[str, str, str]:
    return (groups, "-at", "-pk") if newest_first else (groups, "at", "pk")


def _beyond(place: Place, *, later: bool, next_group: bool) -> Q:
    """What lies on one side of a place: `later` in its own group, and all of the groups on that side."""
    word = "gt" if later else "lt"
    in_group = Q(group=place.group) & (Q(**{f"at__{word}": place.at}) | Q(at=place.at, **{f"pk__{word}": place.pk}))
    return in_group | (Q(group__gt=place.group) if next_group else Q(group__lt=place.group))


def _place(review: Review) -> Place:
    group, at = review.group, review.at  # type: ignore[attr-defined]  # annotated by _grouped
    return Place(group, at, review.pk)
