"""What the page Access shows: per queue, who holds which right, and what the reader may change there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.core.paginator import Page, Paginator
from guardian.models import GroupObjectPermission, UserObjectPermission

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.queues import queue_names
from jobs.models import Queue
from jobs.permissions import PER_QUEUE, Permission, permissions_by_queue, visibility
from jobs.selectors.each import read_each

PER_PAGE = 25


@dataclass(frozen=True)
class Right:
    """A column: the codename, and what it allows."""

    value: str
    label: str


@dataclass(frozen=True)
class HolderChoice:
    """An account or a group that can be chosen: `user:7` or `group:3`, and its name."""

    value: str
    name: str


@dataclass(frozen=True)
class Cell:
    right: Right
    held: bool
    may_give: bool
    may_take: bool


@dataclass(frozen=True)
class Holder:
    kind: str
    value: str
    name: str
    active: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class QueueAccess:
    """One queue; `recorded` says that it has a record, so that others than superusers can see it."""

    connection: str
    name: str
    recorded: bool
    anchor: str
    holders: tuple[Holder, ...]
    givable: tuple[Right, ...]


@dataclass(frozen=True)
class AccessPage:
    page: Page[QueueAccess]
    columns: tuple[Right, ...]
    groups: tuple[HolderChoice, ...]
    users: tuple[HolderChoice, ...]
    store_unreachable: bool


_Held = Mapping[tuple[str, int], frozenset[str]]
"""(queue's pk as text, holder's pk) -> codenames."""


def read_access(user: User, number: str | None) -> AccessPage:
    """The page of that number, clamped; queues in order of connection and name, those of the reader only."""
    queues, store_unreachable = _queues(user)
    page: Page[Queue] = Paginator(queues, PER_PAGE).get_page(number)
    shown = list(page.object_list)
    return AccessPage(
        page=_with_rows(page, _rows(user, shown)),
        columns=_columns(),
        groups=tuple(HolderChoice(f"group:{group.pk}", group.name) for group in Group.objects.order_by("name")),
        users=tuple(HolderChoice(f"user:{one.pk}", one.get_username()) for one in _choosable()),
        store_unreachable=store_unreachable,
    )


def _queues(user: User) -> tuple[list[Queue], bool]:
    """Those on record that the reader sees; for a superuser also those that only Redis knows yet."""
    seen = visibility(user)
    if not seen.everything:
        return list(seen.queues), False
    known = {(queue.connection, queue.name): queue for queue in seen.queues}
    found, store_unreachable = _found_in_redis()
    for connection, name in found:
        known.setdefault((connection, name), Queue(connection=connection, name=name))
    return [known[key] for key in sorted(known)], store_unreachable


def _found_in_redis() -> tuple[list[tuple[str, str]], bool]:
    answers = read_each(connections.names(), queue_names)
    found = [
        (connection, name)
        for connection, names in answers.items()
        if not isinstance(names, BrokerUnavailable)
        for name in names
    ]
    return found, any(isinstance(answer, BrokerUnavailable) for answer in answers.values())


def _rows(user: User, queues: list[Queue]) -> list[QueueAccess]:
    usable = permissions_by_queue(user, queues)
    pks = [str(queue.pk) for queue in queues if queue.pk]
    groups, users = list(Group.objects.order_by("name")), _held(UserObjectPermission, "user_id", pks)
    accounts = get_user_model().objects.in_bulk({holder for _queue, holder in users})
    by_group = _held(GroupObjectPermission, "group_id", pks)
    return [
        QueueAccess(
            connection=queue.connection,
            name=queue.name,
            recorded=bool(queue.pk),
            anchor=f"queue-{position}",
            holders=(
                *(_group_row(group, by_group, queue, usable[queue.connection, queue.name]) for group in groups),
                *_user_rows(accounts, users, queue, usable[queue.connection, queue.name]),
            ),
            givable=tuple(right for right in _columns() if right.value in usable[queue.connection, queue.name]),
        )
        for position, queue in enumerate(queues, 1)
    ]


def _group_row(group: Group, held: _Held, queue: Queue, usable: frozenset[Permission]) -> Holder:
    cells = _cells(held.get((str(queue.pk), group.pk), frozenset()), usable)
    return Holder("group", f"group:{group.pk}", group.name, True, cells)


def _user_rows(
    accounts: Mapping[int, User], held: _Held, queue: Queue, usable: frozenset[Permission]
) -> Iterable[Holder]:
    for account in sorted(accounts.values(), key=lambda one: one.get_username()):
        codenames = held.get((str(queue.pk), account.pk))
        if codenames:
            value, name = f"user:{account.pk}", account.get_username()
            yield Holder("user", value, name, account.is_active, _cells(codenames, usable))


def _cells(codenames: frozenset[str], usable: frozenset[Permission]) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            right=right,
            held=right.value in codenames,
            may_give=right.value not in codenames and right.value in usable,
            may_take=right.value in codenames,
        )
        for right in _columns()
    )


def _held(model: type[UserObjectPermission | GroupObjectPermission], holder: str, pks: list[str]) -> _Held:
    content_type = ContentType.objects.get_for_model(Queue)
    rows = model.objects.filter(content_type=content_type, object_pk__in=pks)
    held: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for pk, who, codename in rows.values_list("object_pk", holder, "permission__codename"):
        held[pk, who].add(codename)
    return {key: frozenset(codenames) for key, codenames in held.items()}


def _columns() -> tuple[Right, ...]:
    return tuple(Right(permission.value, permission.label) for permission in PER_QUEUE)


def _choosable() -> Iterable[User]:
    return get_user_model().objects.filter(is_active=True, is_superuser=False).order_by("username")


def _with_rows(page: Page[Queue], rows: list[QueueAccess]) -> Page[QueueAccess]:
    return Page(rows, page.number, page.paginator)  # type: ignore[arg-type]  # the numbers of one, the rows of the other
